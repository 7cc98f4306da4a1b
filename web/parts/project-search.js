// Passages of a project, found by its own tool.

import { fill, h } from "../lib/dom.js";
import { failureBar } from "./dialog.js";
import "./diff-view.js";
import { plainText, wordsOf } from "./file-view.js";

/**
 * @param {(tool: string, args: Record<string, unknown>) => Promise<any>} store
 * @param {(path: string) => string} address of a file
 */
export function projectSearch(store, address) {
  const found = h("div", { class: "stack" });
  const field = h("input", { type: "search", "aria-label": "Search in this project", placeholder: "Search in this project" });
  const form = h("form", { class: "row", onsubmit: async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const { chunks } = await store("file_search", { query: field.value, path_prefix: "", limit: 20 });
      fill(found, chunks.length ? chunks.map((/** @type {any} */ chunk) => h("div", { class: "hunk" },
        h("header", null, h("a", { class: "grow", href: address(chunk.file_path.slice(1)) }, chunk.file_path.slice(1)), `bytes ${chunk.file_seek_start_bytes}–${chunk.file_seek_end_bytes}`, h("span", null, chunk.score.toFixed(2))),
        h("div", { class: "pad" }, plainText(chunk.chunk_content, wordsOf(field.value))))) : h("p", { class: "soft" }, "No passage was found."));
    } catch (error) {
      fill(found, failureBar(error));
    }
  } }, field, h("button", { type: "submit" }, "Search"));
  return [form, found];
}
