// A question, its answer as it is written, and each cited passage at its place.

import { fill, h, icon } from "../lib/dom.js";
import { readEvents } from "../lib/events.js";
import { href } from "../lib/router.js";
import { Refused, refusal, request } from "../lib/session.js";
import { captioned, citation, spanLabel, spanToHash } from "../lib/span.js";
import { copyButton, failureBar } from "../parts/dialog.js";
import { fetchFile, fileBody } from "../parts/file-view.js";

/** @typedef {{ rel_path: string, span: import("../lib/span.js").Span, chunk_id: number, snippet?: string, text?: string }} Source */

/** @type {import("../console.js").MakeView} */
export function view(route, context) {
  const { me, until } = context;
  /** @type {Source[]} cited, in the order of the answer */
  let cited = [];
  /** @type {Source[]} all passages, the cited ones first */
  let sources = [];
  let chosen = -1;
  let text = "";
  let question = "";
  let stop = new AbortController();
  let stopSource = new AbortController();

  const field = h("input", { type: "search", "aria-label": "Question", placeholder: "Ask a question about these files", autocomplete: "off", enterkeyhint: "go" });
  const askButton = h("button", { type: "submit", class: "first" }, "Ask");
  const stopButton = h("button", { type: "button", hidden: true, onclick: () => stop.abort() }, "Stop");
  const form = h("form", { class: "asking", role: "search", "aria-label": "Ask a question", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    if (field.value.trim()) context.open(href("ask", [], { q: field.value.trim() }));
  } }, h("div", { class: "box" }, icon("ask"), field), askButton, stopButton);
  const wait = h("div", { class: "wait" });
  const answer = h("div", { class: "answer" });
  const notes = h("div");
  const passages = h("nav", { class: "passages", "aria-label": "Passages used" });
  const side = h("section", { class: "preview", "aria-label": "Preview" });
  const left = h("div", { class: "answer-side", tabindex: "-1" }, answer, notes, passages);
  const element = h("div", { class: "ask" }, form, wait, left, side);

  function empty() {
    fill(answer, h("div", { class: "empty" }, icon("ask"), h("h1", null, "Ask about these files"),
      h("p", { class: "soft" }, me.chat ? `Answers are written by ${me.chat.model} from passages of these files, with a citation for each statement.` : "No chat model is configured, so answers quote the best passages word for word.")));
    fill(side, h("div", { class: "empty soft" }, "The passage behind a citation is shown here, at its place."));
  }

  /** @param {boolean} on */
  function busy(on) {
    wait.classList.toggle("on", on);
    stopButton.hidden = !on;
    askButton.disabled = on;
  }

  /** @param {string} asked */
  async function ask(asked) {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    question = asked;
    [cited, sources, chosen, text] = [[], [], -1, ""];
    answer.replaceChildren();
    notes.replaceChildren();
    passages.replaceChildren();
    fill(side, h("div", { class: "empty soft" }, "Looking for passages…"));
    busy(true);
    context.say("Answering");
    /** @type {any} */
    let done = null;
    try {
      const response = await request("/console/ask", { method: "POST", headers: { "Content-Type": "application/json", Accept: "text/event-stream" }, body: JSON.stringify({ question: asked, k: 10 }), signal });
      if (!response.ok) throw await refusal(response);
      await readEvents(response, ({ event, data }) => {
        const body = JSON.parse(data);
        if (event === "hits") take(body.hits, []);
        else if (event === "delta") { text += body.text; draw(); }
        else if (event === "citation") { cited.push(body); take(sources, cited); draw(); if (chosen < 0 && !context.narrow) pick(0); }
        else if (event === "done") done = body;
        else if (event === "error") throw new Refused(body);
      });
      if (!done) throw new Refused({ code: "UNREACHABLE", message: "The answer broke off.", retryable: true });
      text = done.answer ?? "";
      cited = done.citations ?? cited;
      take(done.hits ?? sources, cited);
      draw();
      drawNotes(done);
      if (chosen < 0 && sources.length && !context.narrow) pick(0);
      else if (!sources.length) fill(side, h("div", { class: "empty soft" }, "No passage was found."));
      context.say(`Answer ready, ${cited.length} sources`);
    } catch (error) {
      if (until.aborted) return;
      if (signal.aborted) {
        if (question === asked) fill(notes, h("p", { class: "note" }, icon("info"), "Stopped."));
      } else fill(notes, failureBar(error, () => ask(asked)));
    } finally {
      if (stop.signal === signal) busy(false);
    }
  }

  /** @param {Source[]} hits @param {Source[]} first */
  function take(hits, first) {
    const same = (/** @type {Source} */ a, /** @type {Source} */ b) => a.chunk_id === b.chunk_id && a.rel_path === b.rel_path;
    const unique = first.filter((one, at) => first.findIndex((other) => same(one, other)) === at);
    sources = [...unique.map((one) => ({ ...hits.find((hit) => same(hit, one)), ...one })), ...hits.filter((hit) => !unique.some((one) => same(hit, one)))];
    drawPassages();
  }

  /** The answer with its citations as numbers. */
  function draw() {
    /** @type {Array<[string, number]>} */
    const known = sources.map((source, at) => [citation(source.rel_path, source.span), at]);
    for (const one of cited) if (one.text) known.push([one.text, sources.findIndex(({ chunk_id }) => chunk_id === one.chunk_id)]);
    const pattern = known.length ? new RegExp(known.map(([label]) => label.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "g") : null;
    /** @param {string} part */
    const cites = (part) => {
      /** @type {import("../lib/dom.js").Child[]} */
      const pieces = [];
      let at = 0;
      for (const match of pattern ? part.matchAll(pattern) : []) {
        const index = known.find(([label]) => label === match[0])?.[1] ?? -1;
        const source = sources[index];
        if (!source) continue;
        pieces.push(part.slice(at, match.index), h("button", { type: "button", class: "cite", "aria-label": `Source ${index + 1}: ${source.rel_path} ${spanLabel(source.span, source.rel_path)}`, "aria-current": index === chosen ? "true" : null, "data-source": index, onclick: () => pick(index) }, String(index + 1)));
        at = (match.index ?? 0) + match[0].length;
      }
      return [...pieces, part.slice(at)];
    };
    // Quotations are the only markup of an answer that is drawn; the rest is text as it is.
    fill(answer, text.split(/\n{2,}/).map((block) => {
      const lines = block.split("\n");
      const quoted = lines.filter((line) => line.startsWith(">"));
      return [quoted.length ? h("blockquote", null, cites(quoted.map((line) => line.replace(/^> ?/, "")).join("\n"))) : null,
        quoted.length < lines.length ? h("p", null, cites(lines.filter((line) => !line.startsWith(">")).join("\n"))) : null];
    }));
  }

  /** @param {any} done */
  function drawNotes(done) {
    fill(notes,
      done.extractive && !text.startsWith("Extractive") ? h("p", { class: "note" }, icon("info"), "Extractive: no chat model is configured, so these are the best passages, word for word.") : null,
      done.note ? h("p", { class: "note" }, icon("info"), String(done.note)) : null,
      done.indexing_complete === false ? h("p", { class: "note" }, icon("info"), "Indexing is under way: the answer may be better in a moment.") : null,
      text ? h("div", { class: "row note" }, copyButton("Copy answer", () => text)) : null);
  }

  function drawPassages() {
    fill(passages, sources.length ? h("h2", null, `Passages used (${sources.length})`) : null, sources.map((source, index) => h("a", {
      href: href("file", ["dir", source.rel_path], {}, spanToHash(source.span)), "aria-current": index === chosen ? "true" : null,
      onclick: (/** @type {MouseEvent} */ event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || context.narrow) return;
        event.preventDefault();
        pick(index);
      } }, h("span", { class: "cite" }, String(index + 1)), h("span", { class: "grow" }, source.rel_path, " ", h("span", { class: "soft" }, spanLabel(source.span, source.rel_path))))));
  }

  /** @param {number} index */
  async function pick(index) {
    const source = sources[index];
    if (!source) return;
    chosen = index;
    drawPassages();
    for (const one of answer.querySelectorAll(".cite")) {
      if (one.getAttribute("data-source") === String(index)) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
    }
    stopSource.abort();
    stopSource = new AbortController();
    const { signal } = stopSource;
    const place = href("file", ["dir", source.rel_path], {}, spanToHash(source.span));
    const head = h("header", { class: "file-head" },
      h("button", { type: "button", class: "bare", "aria-label": "Previous source", disabled: index === 0, onclick: () => pick(index - 1) }, icon("back")),
      h("h2", { class: "grow" }, `${index + 1}. ${source.rel_path} `, h("span", { class: "soft" }, spanLabel(source.span, source.rel_path))),
      h("button", { type: "button", class: "bare", "aria-label": "Next source", disabled: index >= sources.length - 1, onclick: () => pick(index + 1) }, icon("next")),
      h("a", { class: "button", href: place }, icon("open"), "Open"));
    try {
      const file = await fetchFile("dir", source.rel_path, { span: source.span }, signal);
      if (signal.aborted) return;
      fill(side, head, file.changed_since_indexed ? h("div", { class: "bar" }, icon("warning"), "This file changed since it was read.") : null,
        fileBody(file, { span: source.span, focus: captioned(source.snippet ?? "").lines, until: signal, onplace: (span) => { sources[index] = { ...source, span }; pick(index); } }));
    } catch (error) {
      if (!signal.aborted) fill(side, head, failureBar(error, () => pick(index)));
    }
  }

  context.keys([
    { keys: "[", what: "Previous source", run: () => pick(chosen - 1) },
    { keys: "]", what: "Next source", run: () => pick(chosen + 1) },
  ]);
  until.addEventListener("abort", () => { stop.abort(); stopSource.abort(); }, { once: true });

  /** @param {import("../lib/router.js").Route} to @param {string} how */
  function update(to, how) {
    const asked = to.query.get("q") ?? "";
    field.value = asked;
    context.title(asked ? `${asked}, ask` : "Ask");
    if (!asked) { stop.abort(); question = ""; notes.replaceChildren(); passages.replaceChildren(); empty(); }
    else if (asked !== question || how === "open") ask(asked);
  }
  update(route, "open");
  queueMicrotask(() => requestAnimationFrame(() => { if (!question && !document.querySelector("dialog[open]")) field.focus({ preventScroll: true }); }));
  return { element, update };
}
