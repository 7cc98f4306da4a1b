// A Markdown tree from the server as elements of an allow-list.

import { h, icon } from "../lib/dom.js";
import { href } from "../lib/router.js";

const TAGS = new Set(["p", "h1", "h2", "h3", "h4", "h5", "h6", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "hr", "br"]);

/**
 * @param {Tree | Tree[]} tree
 * @param {string} source
 * @param {string} path of the file, which relative links start from
 * @returns {import("../lib/dom.js").Child}
 */
export function page(tree, source, path) {
  if (typeof tree === "string") return tree;
  if (!Array.isArray(tree)) return null;
  if (typeof tree[0] !== "string" || (tree.length > 1 && (typeof tree[1] !== "object" || Array.isArray(tree[1])))) {
    return /** @type {Tree[]} */ (tree).map((one) => page(one, source, path));
  }
  const [tag, given, ...inside] = /** @type {[string, any, ...any[]]} */ (tree);
  const attributes = given ?? {};
  const children = inside.map((one) => page(one, source, path));
  const line = attributes.line ? { "data-line": attributes.line } : {};
  if (tag === "a") return link(String(attributes.href ?? ""), children, source, path);
  if (tag === "img") return h("span", { class: "picture" }, icon("image"), String(attributes.alt || attributes.src || "picture"));
  if (tag === "html") return h("code", null, children);
  if (tag === "footnote") return h("div", { class: "small soft" }, children);
  if (tag === "pre") return h("pre", { ...line, tabindex: "0" }, h("code", null, children));
  if (tag === "ol" && attributes.start > 1) return h("ol", { ...line, start: attributes.start }, children);
  if (tag === "li" && typeof attributes.checked === "boolean") {
    return h("li", { ...line, class: "task" }, h("input", { type: "checkbox", disabled: true, checked: attributes.checked, "aria-label": attributes.checked ? "done" : "to do" }), " ", children);
  }
  if ((tag === "th" || tag === "td") && attributes.align && attributes.align !== "left") return h(tag, { class: `align-${attributes.align}` }, children);
  if (/^h[1-6]$/.test(tag)) return h(/** @type {"h1"} */ (tag), { ...line, id: attributes.id ? `s-${attributes.id}` : null }, children);
  return TAGS.has(tag) ? h(/** @type {"p"} */ (tag), line, children) : children;
}

/**
 * @param {string} address
 * @param {import("../lib/dom.js").Child[]} children
 * @param {string} source
 * @param {string} path
 */
function link(address, children, source, path) {
  if (/^(https?|mailto):/i.test(address)) return h("a", { href: address, target: "_blank", rel: "noreferrer noopener" }, children);
  if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(address)) return children;
  const [place = "", hash] = address.split("#");
  if (!place) return h("a", { href: `#s-${hash ?? ""}` }, children);
  return h("a", { href: href("file", [source, resolve(path, place)], {}, hash ? `#${hash}` : "") }, children);
}

/**
 * @param {string} from a file
 * @param {string} to relative to it
 */
export function resolve(from, to) {
  const parts = to.startsWith("/") ? [] : from.split("/").slice(0, -1);
  for (const part of to.split("/")) {
    let name = part;
    try {
      name = decodeURIComponent(part);
    } catch {
      // Then it is a name with a percent sign.
    }
    if (name === "..") parts.pop();
    else if (name && name !== ".") parts.push(name);
  }
  return parts.join("/");
}
