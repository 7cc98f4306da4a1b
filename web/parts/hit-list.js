// Hits: a list of links with one stop of the Tab key. Text in them can be selected.

import { fill, h, typeIcon } from "../lib/dom.js";
import { href } from "../lib/router.js";
import { captioned, spanLabel, spanToHash } from "../lib/span.js";
import { markedText } from "./file-view.js";

/** @param {FoundHit} hit */
export function hitAddress(hit) {
  return href("file", [hit.source, hit.path], hit.bytes ? { bytes: hit.bytes.join("-") } : {}, spanToHash(hit.span));
}

/**
 * @param {{ choose: (index: number, how: "click" | "open") => void }} on
 */
export function hitList(on) {
  const list = h("ol", { "aria-label": "Hits" });
  /** @type {HTMLAnchorElement[]} */
  let links = [];
  let chosen = 0;

  /** @param {number} index @param {{ focus?: boolean }} [how] */
  const select = (index, how = {}) => {
    if (!links.length) return;
    chosen = Math.max(0, Math.min(index, links.length - 1));
    links.forEach((link, at) => {
      link.tabIndex = at === chosen ? 0 : -1;
      if (at === chosen) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
    if (how.focus) links[chosen]?.focus({ preventScroll: true });
    links[chosen]?.scrollIntoView({ block: "nearest" });
  };

  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      on.choose(chosen + step, "click");
      links[chosen]?.focus({ preventScroll: true });
    } else if (event.key === "Home" || event.key === "End") {
      event.preventDefault();
      on.choose(event.key === "Home" ? 0 : links.length - 1, "click");
      links[chosen]?.focus({ preventScroll: true });
    }
  });

  return {
    element: list,
    get chosen() {
      return chosen;
    },
    get size() {
      return links.length;
    },
    select,
    /** @param {FoundHit[]} hits @param {string[]} words @param {Record<string, string>} names of sources, where there are several */
    show(hits, words, names) {
      links = hits.map((hit, index) => {
        const { text, scope } = captioned(hit.snippet);
        return h("a", {
        href: hitAddress(hit), draggable: "false",
        onclick: (/** @type {MouseEvent} */ event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
          // A selection within the text is not a click on the link.
          if (event.detail && !getSelection()?.isCollapsed) return event.preventDefault();
          event.preventDefault();
          on.choose(index, event.detail ? "click" : "open");
        },
      },
        h("span", { class: "where" }, typeIcon(hit.doc_type),
          h("span", { class: "path", title: hit.path }, h("bdi", { dir: "ltr" }, hit.path)),
          h("span", { class: "place" }, spanLabel(hit.span, hit.path)),
          names[hit.source] ? h("span", { class: "tag" }, names[hit.source]) : null,
          h("span", { class: "score", title: "Score within this answer" }, hit.score.toFixed(2))),
        scope ? h("span", { class: "scope" }, scope) : null,
        h("span", { class: hit.doc_type === "code" || hit.doc_type === "data" ? "snippet mono" : "snippet" }, markedText(best(text, words), words)));
      });
      fill(list, links.map((link) => h("li", { class: "hit" }, link)));
      chosen = 0;
    },
  };
}

/**
 * The lines of a snippet from the first that shows a word.
 * @param {string} text
 * @param {string[]} words
 */
function best(text, words) {
  const lines = text.split("\n").filter((line) => line.trim());
  const first = Math.max(0, lines.findIndex((line) => words.some((word) => line.toLowerCase().includes(word))));
  const indent = Math.min(...lines.slice(first).map((line) => line.length - line.trimStart().length));
  return lines.slice(first, first + 6).map((line) => line.slice(indent)).join("\n");
}
