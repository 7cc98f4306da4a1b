// Places in files: citations ⇄ the fragments of addresses ⇄ words.

/** @typedef {{ kind: "lines", start_line: number, end_line: number }} Lines */
/** @typedef {{ kind: "page", page: number }} Page */
/** @typedef {{ kind: "time", start_ms: number, end_ms: number }} Time */
/** @typedef {Lines | Page | Time} Span */

/**
 * @param {Span | null | undefined} span
 * @returns {string} with its #, or nothing
 */
export function spanToHash(span) {
  switch (span?.kind) {
    case "lines":
      return span.start_line === span.end_line ? `#L${span.start_line}` : `#L${span.start_line}-L${span.end_line}`;
    case "page":
      return `#page=${span.page}`;
    case "time":
      return `#t=${span.start_ms / 1000}-${span.end_ms / 1000}`;
    default:
      return "";
  }
}

/**
 * Takes what people and other pages write, too: `#L10-15`, `#t=75,90`.
 * @param {string} hash
 * @returns {Span | null}
 */
export function hashToSpan(hash) {
  const lines = /^#?L(\d{1,9})(?:-L?(\d{1,9}))?$/.exec(hash);
  if (lines) {
    const [start, end] = [Number(lines[1]), Number(lines[2] ?? lines[1])];
    return start < 1 || end < 1 ? null : { kind: "lines", start_line: Math.min(start, end), end_line: Math.max(start, end) };
  }
  const page = /^#?page=(\d{1,9})$/.exec(hash);
  if (page) return Number(page[1]) < 1 ? null : { kind: "page", page: Number(page[1]) };
  const time = /^#?t=(\d{1,9}(?:\.\d{1,3})?)(?:[-,](\d{1,9}(?:\.\d{1,3})?))?$/.exec(hash);
  if (time) {
    const [start, end] = [Number(time[1]), Number(time[2] ?? time[1])];
    return { kind: "time", start_ms: Math.round(Math.min(start, end) * 1000), end_ms: Math.round(Math.max(start, end) * 1000) };
  }
  return null;
}

/** @param {number} ms */
export function clock(ms) {
  const seconds = Math.floor(ms / 1000);
  const pad = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return `${hours ? `${hours}:` : ""}${pad(minutes)}:${pad(seconds % 60)}`;
}

/**
 * What a page is called in its kind of file.
 * @param {string} path
 */
export function pageWord(path) {
  const extension = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  if (["pptx", "ppt", "odp"].includes(extension)) return "slide";
  if (["xlsx", "xls", "ods"].includes(extension)) return "sheet";
  if (extension === "epub") return "chapter";
  return "page";
}

/**
 * @param {Span | null | undefined} span
 * @param {string} path
 */
export function spanLabel(span, path) {
  switch (span?.kind) {
    case "lines":
      return span.start_line === span.end_line ? `L${span.start_line}` : `L${span.start_line}–L${span.end_line}`;
    case "page":
      return `${pageWord(path)} ${span.page}`;
    case "time":
      return `${clock(span.start_ms)}–${clock(span.end_ms)}`;
    default:
      return "";
  }
}

/**
 * As answers of the tools cite.
 * @param {string} path
 * @param {Span | null | undefined} span
 */
export function citation(path, span) {
  const pad = (/** @type {number} */ ms) => clock(ms);
  switch (span?.kind) {
    case "lines":
      return `[${path}:L${span.start_line}-L${span.end_line}]`;
    case "page":
      return `[${path}#p=${span.page}]`;
    case "time":
      return `[${path}@t=${pad(span.start_ms)}-${pad(span.end_ms)}]`;
    default:
      return `[${path}]`;
  }
}

/**
 * The lines that a range of bytes touches.
 * @param {string} text of the whole file
 * @param {number} start first byte
 * @param {number} end the byte behind the last
 * @returns {Lines}
 */
export function bytesToLines(text, start, end) {
  let [line, at, first] = [1, 0, 0];
  for (const part of text.split("\n")) {
    const next = at + new TextEncoder().encode(part).length + 1;
    if (!first && start < next) first = line;
    if (end <= next) return { kind: "lines", start_line: first || line, end_line: line };
    at = next;
    line += 1;
  }
  return { kind: "lines", start_line: first || 1, end_line: Math.max(line - 1, 1) };
}

/**
 * A snippet and what its first line says of it: `@@ L34-L60 @@ impl A > fn b`.
 * @param {string} snippet
 * @returns {{ text: string, scope: string, lines: Lines | null }}
 */
export function captioned(snippet) {
  const caption = /^@@ ([^\n]*?) @@ ?([^\n]*)(?:\n|$)/.exec(snippet);
  if (!caption) return { text: snippet, scope: "", lines: null };
  const [place = "", scope = ""] = caption.slice(1);
  const lines = hashToSpan(/L\d+(?:-L?\d+)?$/.exec(place)?.[0] ?? "");
  const other = place.replace(/,? ?L\d+(?:-L?\d+)?$/, "");
  return { text: snippet.slice(caption[0].length), scope: [other, scope].filter(Boolean).join(" · "), lines: lines?.kind === "lines" ? lines : null };
}
