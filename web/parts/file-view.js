// What is in a file, whatever its kind: lines, a page, the parts of a document, a table, a transcript, a picture, a folder.

import { bytesText, countText, fill, h, icon, typeIcon } from "../lib/dom.js";
import { href } from "../lib/router.js";
import { refusal, request } from "../lib/session.js";
import { codeView } from "./code-view.js";

/** @typedef {import("../lib/span.js").Span} Span */
/** @typedef {{ span?: Span | null, focus?: import("../lib/span.js").Lines | null, words?: string[], onplace?: (span: Span) => void, until: AbortSignal, tab?: string, level?: number }} How */

/** @type {Map<string, { tag: string, answer: FileAnswer }>} the newest last */
const kept = new Map();

/**
 * @param {string} source
 * @param {string} path
 * @param {{ span?: Span | null, part?: number, version?: string | null, from?: number }} [what]
 * @param {AbortSignal} [until]
 * @returns {Promise<FileAnswer>}
 */
export async function fetchFile(source, path, what = {}, until) {
  const query = new URLSearchParams({ source, path });
  const { span, part, version, from } = what;
  if (part) query.set("page", String(part));
  else if (span?.kind === "page") query.set("page", String(span.page));
  else if (span?.kind === "time") query.set("t", String(span.start_ms / 1000));
  if (from) query.set("from", String(from));
  if (version) query.set("version", version);
  const address = `/console/view?${query}`;
  const known = kept.get(address);
  const response = await request(address, { headers: known ? { "If-None-Match": known.tag } : {}, signal: until ?? null, cache: "no-store" });
  if (response.status === 304 && known) return known.answer;
  if (!response.ok) throw await refusal(response);
  /** @type {FileAnswer} */
  const answer = await response.json();
  // The lines of a document are those of its whole text: ask for the part that holds the cited one.
  if (answer.kind === "pages" && span?.kind === "lines" && !part && !from && span.start_line > 1
    && !answer.units?.some((unit) => unit.first_line <= span.start_line && span.start_line <= unit.last_line)) {
    return fetchFile(source, path, { ...what, from: span.start_line }, until);
  }
  const tag = response.headers.get("ETag");
  if (tag) {
    kept.delete(address);
    kept.set(address, { tag, answer });
    for (const oldest of kept.keys()) if (kept.size > 24) kept.delete(oldest);
  }
  return answer;
}

/** Tabs that a file has. @param {FileAnswer} file */
export function tabsOf(file) {
  if (file.kind === "markdown" && file.page) return ["Page", "Text"];
  if (file.kind === "table" && file.table) return ["Table", "Text"];
  return [];
}

/**
 * @param {FileAnswer} file
 * @param {How} how
 * @returns {HTMLElement}
 */
export function fileBody(file, how) {
  const body = h("div", { class: "file-body", tabindex: "0", role: "group", "aria-label": `Text of ${file.name}` });
  const asText = how.tab === "Text" || (how.tab !== "Page" && how.tab !== "Table" && how.span?.kind === "lines");
  if (file.kind === "markdown" && file.page && !asText) append(body, pageText(file, file.page));
  else if (file.kind === "table" && file.table && !asText) append(body, table(file.table));
  else if (file.kind === "pages") append(body, parts(file, how));
  else if (file.kind === "time") append(body, media(file, how));
  else if (file.kind === "folder" || file.kind === "archive") append(body, entries(file.entries ?? [], file.source, file.total));
  else if (file.kind === "none") append(body, nothing(file));
  else {
    if (file.kind === "image") append(body, media(file, how));
    if (file.lines?.text.length) append(body, lines(file, how));
    else if (file.kind !== "image") append(body, h("p", { class: "pad soft" }, "The file is empty."));
  }
  return body;
}

/** @param {Element} parent @param {import("../lib/dom.js").Child} child */
function append(parent, child) {
  for (const one of [child].flat()) if (one instanceof Node) parent.append(one);
}

/** @param {FileAnswer} file @param {How} how */
function lines(file, how) {
  const given = /** @type {NonNullable<FileAnswer["lines"]>} */ (file.lines);
  const view = codeView();
  view.show({ text: given.text, first: given.first, classes: file.classes ?? [], tokens: file.tokens ?? [], wraps: file.kind !== "code" && file.kind !== "table" });
  view.online = (line, extend) => {
    const start = extend && how.span?.kind === "lines" ? Math.min(how.span.start_line, line) : line;
    const end = extend && how.span?.kind === "lines" ? Math.max(how.span.end_line, line) : line;
    how.onplace?.({ kind: "lines", start_line: start, end_line: end });
    view.mark(start, end);
  };
  const span = how.span;
  if (span?.kind === "lines") {
    // Once it is in the page: before, nothing has a place to scroll to.
    queueMicrotask(() => requestAnimationFrame(() => { const at = how.focus ?? span; view.mark(at.start_line, at.end_line, how.words, how.focus ? span : null); }));
  }
  return [
    view,
    given.truncated ? h("p", { class: "strip" }, `Shown are lines ${given.first} to ${given.first + given.text.length - 1} of ${given.total.toLocaleString("en")}; download the file to see all.`) : null,
    given.cut.length ? h("p", { class: "strip" }, `${countText(given.cut.length, "line is", "lines are")} cut because of their length.`) : null,
  ];
}

/**
 * @param {Tree | Tree[]} tree
 * @param {FileAnswer} file
 * @param {HTMLElement} holder that it is put into, once the part that knows Markdown is here
 */
function pageOf(tree, file, holder) {
  import("./page-view.js").then(({ page }) => fill(holder, page(tree, file.source, file.path)));
  return holder;
}

/** @param {FileAnswer} file @param {Tree | Tree[]} tree */
function pageText(file, tree) {
  return pageOf(tree, file, h("article", { class: "page-text" }));
}

/** @param {NonNullable<FileAnswer["table"]>} given */
function table(given) {
  const [head, rest] = given.header ? [given.rows[0] ?? [], given.rows.slice(1)] : [null, given.rows];
  return h("div", { class: "sheet" },
    h("table", null,
      head ? h("thead", null, h("tr", null, head.map((cell) => h("th", { scope: "col" }, cell)))) : null,
      h("tbody", null, rest.map((row) => h("tr", null, row.map((cell) => h("td", { title: cell.length > 48 ? cell : null }, cell)))))),
    given.truncated ? h("p", { class: "strip" }, `${given.rows.length.toLocaleString("en")} of ${given.total_rows.toLocaleString("en")} rows are shown.`) : null);
}

/** @param {FileAnswer} file @param {How} how */
function parts(file, how) {
  const { parts: given, units = [] } = file;
  const holder = h("article", { class: "page-text" });
  const span = how.span;
  for (const unit of units) {
    const marked = span?.kind === "lines" && unit.first_line <= span.end_line && span.start_line <= unit.last_line && units.length > 1;
    const text = unit.page ? pageOf(unit.page, file, h("div")) : plainText(unit.text, how.words ?? []);
    const block = h("section", { class: marked ? "marked-unit arrived" : null, "aria-label": unit.pointer },
      units.length > 1 || unit.title ? h("h2", null, unit.title || unit.pointer) : null, text);
    holder.append(block);
    if (marked) requestAnimationFrame(() => block.scrollIntoView({ block: "start" }));
  }
  if (!units.length) holder.append(h("p", { class: "soft" }, "There is no text in this part."));
  if (!given || given.count < 2) return holder;
  /** @param {number} part */
  const go = (part) => how.onplace?.({ kind: "page", page: part });
  const pager = h("nav", { class: "pager", "aria-label": `${given.word}s` },
    h("button", { type: "button", class: "bare", disabled: given.part <= 1, "aria-label": `Previous ${given.word}`, onclick: () => go(given.part - 1) }, icon("back")),
    h("select", { "aria-label": given.word, onchange: (/** @type {Event} */ event) => go(Number(/** @type {HTMLSelectElement} */ (event.target).value)) },
      given.labels.map((label, at) => h("option", { value: String(at + 1), selected: at + 1 === given.part }, label))),
    h("span", { class: "soft" }, `of ${given.count}`),
    h("button", { type: "button", class: "bare", disabled: given.part >= given.count, "aria-label": `Next ${given.word}`, onclick: () => go(given.part + 1) }, icon("next")));
  return [pager, holder];
}

/**
 * Text with the words that were looked for marked.
 * @param {string} text
 * @param {string[]} words
 */
export function plainText(text, words) {
  return h("div", { class: "plain-text" }, markedText(text, words));
}

/**
 * @param {string} text
 * @param {string[]} words in small letters
 * @returns {import("../lib/dom.js").Child[]}
 */
export function markedText(text, words) {
  if (!words.length) return [text];
  const pattern = new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "gi");
  return text.split(pattern).map((part, at) => (at % 2 ? h("mark", null, part) : part));
}

/** @param {string} query @returns {string[]} what to mark */
export function wordsOf(query) {
  const words = query.toLowerCase().match(/[\p{L}\p{N}_]{2,}/gu) ?? [];
  return [...new Set(words)].filter((word) => !["the", "and", "for", "of", "in", "to", "is", "or", "an", "how", "what", "was", "when"].includes(word)).sort((a, b) => b.length - a.length).slice(0, 12);
}

/** Recordings and pictures need more, which is fetched when one is opened. @param {FileAnswer} file @param {How} how */
function media(file, how) {
  const holder = h("div");
  import("./media-view.js").then(({ recording, picture }) => fill(holder, (file.kind === "time" ? recording : picture)(file, how)));
  return holder;
}

/** @param {FileAnswer} file */
export function nothing(file) {
  return h("div", { class: "pad stack" },
    h("p", null, file.reason?.message ?? "There is no text in this file."),
    file.reason?.remedy ? h("p", { class: "soft" }, file.reason.remedy) : null);
}

/**
 * @param {Entry[]} list
 * @param {string} source
 * @param {number} [total]
 */
export function entries(list, source, total) {
  if (!list.length) return h("p", { class: "pad soft" }, "The folder is empty.");
  return h("div", null,
    h("ul", { class: "entries", "aria-label": "Entries" }, list.map((entry) => h("li", null,
      h("a", { href: href("file", [source, entry.path]) },
        entry.kind === "folder" ? icon("folder") : typeIcon(entry.kind === "archive" ? "archive" : entry.doc_type ?? ""),
        h("span", { class: "grow clip" }, entry.name),
        h("small", { class: "soft" }, entry.kind === "folder" ? countText(entry.files ?? 0, "file") : bytesText(entry.size_bytes ?? 0)))))),
    total && total > list.length ? h("p", { class: "strip" }, `${list.length.toLocaleString("en")} of ${total.toLocaleString("en")} entries are shown.`) : null);
}
