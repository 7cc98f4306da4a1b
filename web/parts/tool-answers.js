// What the file tools answered, word for word.

import { fill, h } from "../lib/dom.js";

/** @typedef {{ tool: string, args: object, answer: unknown, failed: boolean, ms: number }} Line */

/**
 * @param {string} path
 * @param {boolean} isFolder
 * @param {(tool: string, args: Record<string, unknown>) => Promise<any>} store calls a tool and keeps its answer
 * @param {() => Line[]} answers newest first
 */
export function toolAnswers(path, isFolder, store, answers) {
  const lines = h("div", { class: "stack" });
  const draw = () => fill(lines, answers().length ? answers().map((line, at) => h("details", { open: at === 0 },
    h("summary", null, h("code", null, line.tool), ` ${line.failed ? "failed" : "ok"} · ${Math.round(line.ms)} ms`),
    h("pre", { class: "json", tabindex: "0" }, JSON.stringify({ arguments: short(line.args), result: short(line.answer) }, null, 2))))
    : h("p", { class: "small soft" }, "Nothing was called yet."));
  /** @param {string} label @param {string} tool @param {Record<string, unknown>} args */
  const run = (label, tool, args) => h("button", { type: "button", onclick: async () => {
    await store(tool, args).catch(() => {});
    draw();
  } }, label);
  draw();
  return [h("div", { class: "row" }, run("Stat", "file_stat", { path: path ? `/${path}` : "" }), path ? run("Read", "file_read", { path: `/${path}` }) : null,
    run("List", "file_list", { path: path && isFolder ? `/${path}` : "" }), run("Search", "file_search", { query: path.split("/").pop() || "notes" }),
    h("span", { class: "small soft" }, "Write, rename and delete appear here after you did them.")), lines];
}

/** Long contents are not worth showing twice. @param {unknown} value @returns {unknown} */
function short(value) {
  return JSON.parse(JSON.stringify(value ?? null), (_, one) => (typeof one === "string" && one.length > 4000 ? `${one.slice(0, 4000)}… (${one.length} characters)` : one));
}
