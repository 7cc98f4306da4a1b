// One file of any source at any place: the page behind every citation.

import { bytesText, fill, h, icon } from "../lib/dom.js";
import { call, hasContract } from "../lib/mcp.js";
import { href } from "../lib/router.js";
import { json } from "../lib/session.js";
import { bytesToLines, citation, hashToSpan, spanLabel, spanToHash } from "../lib/span.js";
import { copyButton, failureBar, show as showDialog } from "../parts/dialog.js";
import { entries, fetchFile, fileBody, tabsOf } from "../parts/file-view.js";

/** @typedef {import("../lib/span.js").Span} Span */

const EDITORS = /** @type {Record<string, [string, (path: string, line: number) => string]>} */ ({
  vscode: ["VS Code", (path, line) => `vscode://file${path}:${line}`],
  cursor: ["Cursor", (path, line) => `cursor://file${path}:${line}`],
  jetbrains: ["JetBrains", (path, line) => `jetbrains://idea/navigate/reference?path=${encodeURIComponent(path)}:${line}`],
  zed: ["Zed", (path, line) => `zed://file${path}:${line}`],
});

/** @type {import("../console.js").MakeView} */
export function view(route, context) {
  const { me, until } = context;
  const element = h("section", { class: "file-page", "aria-label": "File" });
  let stop = new AbortController();
  let [source, path] = ["", ""];
  /** @type {Span | null} */
  let span = null;
  /** @type {string | undefined} */
  let tab;
  /** @type {FileAnswer | null} */
  let file = null;

  /** @param {import("../lib/router.js").Route} to */
  function update(to) {
    const [nextSource, nextPath] = [to.parts[0] ?? "dir", to.parts.slice(1).join("/")];
    const same = nextSource === source && nextPath === path && file;
    [source, path, span] = [nextSource, nextPath, hashToSpan(to.hash)];
    const heading = /^#s-/.test(to.hash) ? document.getElementById(decodeURIComponent(to.hash.slice(1))) : null;
    if (same && heading) return heading.scrollIntoView();
    if (!same) tab = undefined;
    context.title(path.split("/").pop() || source);
    load(to);
  }

  /** @param {import("../lib/router.js").Route} to */
  async function load(to) {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    try {
      if (!path) return await folder(signal);
      file = await fetchFile(source, path, { span, version: to.query.get("v") }, signal);
      const bytes = /^(\d+)-(\d+)$/.exec(to.query.get("bytes") ?? "");
      if (!span && bytes && file.lines) span = bytesToLines(file.lines.text.join("\n"), Number(bytes[1]), Number(bytes[2]));
      if (!signal.aborted) draw(signal);
    } catch (error) {
      if (signal.aborted) return;
      file = null;
      element.classList.remove("with-outline");
      fill(element, head([]), h("div", { class: "file-main" }, failureBar(error, () => load(to)),
        h("p", { class: "pad soft" }, "Status says which files are not shown, and why. ", h("a", { href: href("status") }, "Open Status"))));
    }
  }

  /** @param {AbortSignal} signal */
  async function folder(signal) {
    const listed = await json(`/console/list?${new URLSearchParams({ source, path })}`, { signal });
    if (signal.aborted) return;
    element.classList.remove("with-outline");
    fill(element, head([]), h("div", { class: "file-main" }, h("div", { class: "file-body" }, entries(listed.entries, source, listed.total))));
  }

  /** @param {import("../lib/dom.js").Child[]} actions */
  function head(actions) {
    const names = path.split("/").filter(Boolean);
    const root = me.roots.find((one) => one.source === source)?.name ?? source.replace(/^store\./, "");
    return h("header", { class: "file-head" },
      h("nav", { class: "crumbs grow", "aria-label": "Path" },
        h("a", { href: href("file", [source]) }, root),
        names.map((name, at) => [h("span", { class: "soft", "aria-hidden": "true" }, "/"),
          at === names.length - 1 ? h("h1", null, name) : h("a", { href: href("file", [source, names.slice(0, at + 1).join("/")]) }, name)])),
      actions);
  }

  /** @param {AbortSignal} signal */
  function draw(signal) {
    const given = /** @type {FileAnswer} */ (file);
    const tabs = tabsOf(given);
    tab ??= span?.kind === "lines" && tabs.length ? "Text" : tabs[0];
    const root = me.roots.find((one) => one.source === source);
    const body = fileBody(given, { span, until: signal, ...(tab ? { tab } : {}), words: [], onplace: (place) => {
      span = place;
      if (place.kind === "lines") {
        context.replace(href("file", [source, path], {}, spanToHash(place)), true);
        refreshHead();
      } else context.open(href("file", [source, path], {}, spanToHash(place)));
    } });
    const outline = given.outline?.length ? given.outline : null;
    element.classList.toggle("with-outline", Boolean(outline));
    let top = headOf();
    /** @returns {HTMLElement} */
    function headOf() {
      return head([
        h("span", { class: "tag" }, given.language ?? given.doc_type ?? given.kind), given.kind === "folder" ? null : h("span", { class: "tag" }, bytesText(given.size_bytes)),
        span ? h("span", { class: "tag" }, spanLabel(span, path)) : null,
        copyButton("Copy citation", () => citation(path, span)),
        copyButton("Copy path", () => path, { plain: true, short: true }),
        root && given.kind !== "folder" ? editorLink(root.path) : null,
        given.writable ? h("a", { class: "button", href: href("files", [source.replace(/^store\./, ""), path]) }, icon("edit"), "Edit") : null,
        given.kind === "folder" ? null : h("button", { type: "button", class: "bare", "aria-label": "Download the original", title: "Download the original", onclick: () => import("../parts/save-file.js").then(({ saveFile }) => saveFile(source, path)).catch((error) => element.prepend(failureBar(error))) }, icon("download")),
      ]);
    }
    function refreshHead() {
      const next = headOf();
      top.replaceWith(next);
      top = next;
    }
    fill(element, top,
      h("div", { class: "file-main" },
        given.changed_since_indexed ? h("div", { class: "bar" }, icon("warning"), h("span", { class: "grow" }, "This file changed since it was indexed; a citation may point elsewhere."), h("a", { href: href("search", [], { q: given.name }) }, "Search again")) : null,
        tabs.length ? h("div", { class: "tabs", role: "tablist", "aria-label": "Shown as" }, tabs.map((name) => h("button", { type: "button", role: "tab", "aria-selected": String(name === tab), onclick: () => { tab = name; draw(signal); } }, name))) : null,
        body),
      outline ? outlineOf(outline) : null);
  }

  /** @param {Symbol_[]} list */
  function outlineOf(list) {
    return h("aside", { class: "outline", "aria-label": "Outline" }, h("h3", null, "Outline"), h("ul", null, list.slice(0, 2000).map((one) => h("li", { class: `d${Math.min(one.depth, 3)}` },
      h("a", { href: href("file", [source, path], {}, spanToHash({ kind: "lines", start_line: one.start_line, end_line: one.end_line })), title: one.signature ?? one.name }, one.name, " ", h("small", null, one.kind)),
      hasContract("repo") && source === "dir" ? h("button", { type: "button", class: "plain bare", "aria-label": `Find references of ${one.name}`, title: "Find references", onclick: () => references(one.name) }, icon("search")) : null))));
  }

  /** @param {string} symbol */
  async function references(symbol) {
    const list = h("div", { class: "stack" }, h("p", { class: "soft" }, "Looking…"));
    const dialog = showDialog(`References of ${symbol}`, [h("div", { class: "inside" }, h("h2", null, `References of ${symbol}`), list, h("div", { class: "actions" }, h("button", { type: "button", class: "first", onclick: () => dialog.close() }, "Close")))], { wide: true });
    try {
      const { result } = await call("repo.references", { symbol }, until);
      fill(list, result.references?.length ? h("ul", { class: "entries" }, result.references.map((/** @type {any} */ one) => h("li", null,
        h("a", { href: href("file", ["dir", one.path], {}, `#L${one.line}`), onclick: () => dialog.close() },
          h("span", null, `${one.path}:${one.line}`), h("code", { class: "soft clip grow" }, one.evidence.trim()), h("small", { class: "soft" }, one.kind)))))
        : h("p", { class: "soft" }, "None was found."));
    } catch (error) {
      fill(list, failureBar(error));
    }
  }

  /** @param {string} root */
  function editorLink(root) {
    let chosen = "vscode";
    try {
      chosen = localStorage.getItem("dir2mcp-editor") ?? chosen;
    } catch {
      // Then it is the first one.
    }
    const line = span?.kind === "lines" ? span.start_line : 1;
    const select = h("select", { "aria-label": "Open in editor", onchange: () => {
      if (!select.value) return;
      try {
        localStorage.setItem("dir2mcp-editor", select.value);
      } catch {
        // It is asked again next time.
      }
      const target = EDITORS[select.value]?.[1](`${root}/${path}`, line);
      select.value = "";
      if (target) location.assign(target);
    } }, h("option", { value: "" }, "Open in…"), Object.entries(EDITORS).sort(([a], [b]) => Number(b === chosen) - Number(a === chosen)).map(([id, [name]]) => h("option", { value: id }, name)));
    return h("span", { class: "wide-only" }, select);
  }

  context.keys([
    { keys: "c", what: "Copy the citation", run: () => navigator.clipboard.writeText(citation(path, span)) },
    { keys: "y", what: "Pin the address to this content", run: () => { if (file) context.replace(href("file", [source, path], { hash: file.content_hash.slice(0, 16) }, spanToHash(span)), true); } },
    { keys: "e", what: "Edit", run: () => { if (file?.writable) context.open(href("files", [source.replace(/^store\./, ""), path])); } },
    { keys: "[", what: "Previous part", run: () => element.querySelector("nav.pager button")?.dispatchEvent(new MouseEvent("click")) },
    { keys: "]", what: "Next part", run: () => element.querySelector("nav.pager button:last-child")?.dispatchEvent(new MouseEvent("click")) },
    { keys: "Escape", what: "Back", run: () => history.back() },
  ]);
  until.addEventListener("abort", () => stop.abort(), { once: true });
  update(route);
  return { element, update };
}
