// Search as you type, over the folder and the store at once, with the hit shown beside the list.

import { countText, fill, h, icon } from "../lib/dom.js";
import { call, hasContract } from "../lib/mcp.js";
import { href } from "../lib/router.js";
import { json } from "../lib/session.js";
import { bytesToLines, captioned, citation, spanLabel } from "../lib/span.js";
import { copyButton, failureBar } from "../parts/dialog.js";
import { fetchFile, fileBody, wordsOf } from "../parts/file-view.js";
import { hitAddress, hitList } from "../parts/hit-list.js";
import { coverage } from "../parts/status-line.js";
import { effect } from "../lib/signal.js";

const MOST = 50;
const TYPES = /** @type {Record<string, string>} */ ({ code: "Code", text: "Text", md: "Markdown", data: "Data", html: "HTML", pdf: "PDF", image: "Images", audio: "Recordings", archive: "Archives" });

/** What was found last, so that the way back does not search again. @type {{ address: string, hits: FoundHit[], all: FoundHit[], line: string } | null} */
let last = null;

/** @type {import("../console.js").MakeView} */
export function view(route, context) {
  const { me, until } = context;
  let asked = { q: "", in: "", type: "", path: "", sel: 0 };
  /** @type {FoundHit[]} */
  let hits = [];
  /** @type {FoundHit[]} */
  let all = [];
  let stop = new AbortController();
  let stopPreview = new AbortController();
  let typing = 0;
  let lateBar = 0;

  const field = h("input", { type: "search", "aria-label": "Search", placeholder: "Search files by words, names or meaning", autocomplete: "off", spellcheck: "false", enterkeyhint: "search",
    oninput: () => {
      clearTimeout(typing);
      boxes.setAttribute("aria-busy", "true");
      typing = setTimeout(() => context.replace(address({ q: field.value, sel: 0 })), 80);
    },
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "ArrowDown" && hits.length) {
        event.preventDefault();
        choose(list.chosen, "click");
        list.select(list.chosen, { focus: true });
      } else if (event.key === "Enter" && hits.length) {
        event.preventDefault();
        choose(list.chosen, "open");
      } else if (event.key === "Escape") field.blur();
    } });
  const chips = h("div", { class: "row" });
  const wait = h("div", { class: "wait" });
  const facets = h("aside", { class: "facets", "aria-label": "Filters" });
  const counted = h("span", { class: "grow", role: "status" });
  const filterButton = h("button", { type: "button", class: "narrow-only", "aria-expanded": "false", onclick: () => {
    const open = facets.classList.toggle("shown");
    filterButton.setAttribute("aria-expanded", String(open));
  } }, icon("filter"), "Filters");
  const copyAll = copyButton("Copy as context", () => hits.slice(0, 20).map((hit) => `${citation(hit.path, hit.span)}\n${captioned(hit.snippet).text.trim()}`).join("\n\n"), { plain: true, short: true });
  const boxes = h("div", { class: "hits", tabindex: "-1" });
  const strip = h("div", { class: "strip" });
  const preview = h("section", { class: "preview", "aria-label": "Preview" });
  const list = hitList({ choose });

  const element = h("div", { class: "search" },
    h("div", { class: "asking" }, h("div", { class: "box" }, icon("search"), field), filterButton, chips),
    wait, facets,
    h("div", { class: "found" }, h("header", null, counted, copyAll), boxes, strip),
    preview);

  /** @param {Partial<typeof asked>} change */
  function address(change) {
    const next = { ...asked, ...change };
    return href("search", [], { q: next.q, in: next.in, type: next.type, path: next.path, sel: next.sel ? String(next.sel + 1) : "" });
  }

  /** @param {import("../lib/router.js").Route} to */
  function read(to) {
    const get = (/** @type {string} */ name) => to.query.get(name) ?? "";
    return { q: get("q"), in: get("in"), type: get("type"), path: get("path"), sel: Math.max(0, Number(get("sel") || 1) - 1) || 0 };
  }

  /** @param {typeof asked} next @param {boolean} again */
  function apply(next, again) {
    const same = next.q === asked.q && next.in === asked.in && next.type === asked.type && next.path === asked.path;
    asked = next;
    if (document.activeElement !== field || field.value.trim() !== next.q.trim()) field.value = next.q;
    context.title(next.q ? `${next.q}, search` : "Search");
    drawChips();
    if (same && !again) {
      if (hits.length) pick(next.sel);
      return;
    }
    search();
  }

  function drawChips() {
    /** @param {string} label @param {Partial<typeof asked>} without */
    const chip = (label, without) => h("button", { type: "button", class: "chip", "aria-label": `Remove filter ${label}`, onclick: () => context.open(address({ ...without, sel: 0 })) }, label, icon("close"));
    fill(chips,
      asked.in ? chip(`in: ${sourceName(asked.in)}`, { in: "" }) : null,
      asked.type.split(",").filter(Boolean).map((type) => chip(`type: ${type}`, { type: asked.type.split(",").filter((one) => one !== type).join(",") })),
      asked.path ? chip(`path: ${asked.path}`, { path: "" }) : null);
  }

  /** @param {string} source */
  function sourceName(source) {
    return source.startsWith("store.") ? source.slice(6) : me.roots.find((root) => root.source === source)?.name ?? source;
  }

  function busy(/** @type {boolean} */ on) {
    clearTimeout(lateBar);
    boxes.setAttribute("aria-busy", String(on));
    if (on) lateBar = setTimeout(() => { wait.classList.add("on"); boxes.classList.add("dim"); }, 150);
    else { wait.classList.remove("on"); boxes.classList.remove("dim"); }
  }

  async function search() {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    const query = asked.q.trim();
    element.classList.toggle("idle", !query);
    if (!query) {
      busy(false);
      hits = all = [];
      drawEmpty();
      return;
    }
    const here = address({ sel: 0 });
    if (last?.address === here && last.hits.length) {
      [hits, all] = [last.hits, last.all];
      counted.textContent = last.line;
      draw();
      pick(asked.sel);
      return;
    }
    busy(true);
    const started = performance.now();
    const types = asked.type.split(",").filter(Boolean);
    const filters = { ...(asked.path ? { path_prefix: asked.path } : {}), ...(types.length ? { doc_types: types } : {}) };
    const [inFolder, inStore] = [!asked.in || asked.in.startsWith("dir"), (!asked.in || asked.in.startsWith("store.")) && me.store && hasContract("files") && !types.length];
    /** @type {FoundHit[][]} */
    const found = [[], []];
    /** @type {unknown[]} */
    const failed = [];
    let complete = true;
    let left = 0;
    /** @param {Promise<any>} answer @param {(result: any) => void} take */
    const source = (answer, take) => {
      left += 1;
      answer.then(take, (error) => { if (!signal.aborted) failed.push(error); }).finally(() => {
        left -= 1;
        if (signal.aborted || until.aborted) return;
        // No source waits for another.
        hits = woven(found);
        if (!types.length && !asked.path) all = hits;
        if (hits.length || !left) {
          busy(false);
          const took = Math.max(1, Math.round(performance.now() - started));
          counted.textContent = `${countText(hits.length, "hit")}${hits.length >= MOST ? " or more" : ""} · ${took} ms`;
          last = left || failed.length ? null : { address: here, hits, all, line: counted.textContent };
          draw(failed, complete);
          pick(asked.sel);
        }
      });
    };
    if (inFolder && me.roots.length && hasContract("dir2mcp")) {
      source(call("dir2mcp.search", { query, k: MOST, ...filters }, signal), (result) => {
        complete = result.indexing_complete;
        found[0] = result.hits.map((/** @type {any} */ hit) => ({ source: "dir", path: hit.rel_path, doc_type: hit.doc_type ?? "", score: hit.score, snippet: hit.snippet, span: hit.span, id: hit.chunk_id }));
      });
    }
    if (inStore) {
      const project = asked.in ? asked.in.slice(6) : "*";
      source(call("file_search", { project, query, limit: 20, ...(asked.path ? { path_prefix: `/${asked.path}` } : {}) }, signal), (result) => {
        found[1] = result.chunks.map((/** @type {any} */ chunk) => ({ source: `store.${chunk.project ?? project}`, path: chunk.file_path.slice(1), doc_type: typeOf(chunk.file_path), score: chunk.score, snippet: chunk.chunk_content.slice(0, 600), span: null, bytes: [chunk.file_seek_start_bytes, chunk.file_seek_end_bytes] }));
      });
    }
    if (!left) { busy(false); draw([], true); }
    if ((types.length || asked.path) && inFolder && hasContract("dir2mcp")) {
      // The counts beside the filters are those without filters.
      call("dir2mcp.search", { query, k: MOST }, signal).then((result) => {
        all = result.hits.map((/** @type {any} */ hit) => ({ source: "dir", path: hit.rel_path, doc_type: hit.doc_type ?? "" }));
        drawFacets();
      }, () => {});
    }
  }

  /** @param {unknown[]} [failed] @param {boolean} [complete] */
  function draw(failed = [], complete = true) {
    const several = me.roots.length && me.store ? Object.fromEntries(hits.filter((hit) => hit.source !== "dir").map((hit) => [hit.source, sourceName(hit.source)])) : {};
    list.show(hits, wordsOf(asked.q), several);
    fill(boxes, failed.map((error) => failureBar(error, search)), hits.length ? list.element : failed.length ? null : noHits());
    if (!hits.length) {
      counted.textContent = failed.length ? "The search failed" : "No hits";
      fill(preview, h("div", { class: "empty soft" }, "Nothing to show."));
    }
    context.say(hits.length ? countText(hits.length, "hit") : "No hits");
    copyAll.hidden = !hits.length;
    drawFacets();
    drawStrip(complete);
  }

  function drawStrip(complete = true) {
    const now = context.progress.peek();
    const { all: total } = now ? coverage(now) : { all: 0 };
    const rest = now ? total - now.searchable : 0;
    if (now?.running || !complete) fill(strip, h("span", null, `Indexing is under way${now ? `: ${rest.toLocaleString("en")} files are not read yet` : ""}. More may be found soon.`));
    else if (rest > 0) fill(strip, `${countText(rest, "file is", "files are")} not searchable. `, h("a", { href: href("status") }, "See why"));
    strip.hidden = !strip.childNodes.length || (!rest && complete && !now?.running);
  }

  function drawFacets() {
    /** @param {string} label @param {number | null} count @param {boolean} on @param {Partial<typeof asked>} change */
    const facet = (label, count, on, change) => h("button", { type: "button", class: "facet", "aria-pressed": String(on), onclick: () => context.open(address({ ...change, sel: 0 })) }, h("span", { class: "clip" }, label), count === null ? null : h("small", null, String(count)));
    /** @param {(hit: FoundHit) => string} key */
    const counts = (key) => {
      /** @type {Map<string, number>} */
      const found = new Map();
      for (const hit of all) if (key(hit)) found.set(key(hit), (found.get(key(hit)) ?? 0) + 1);
      return [...found].sort((a, b) => b[1] - a[1]);
    };
    const chosen = asked.type.split(",").filter(Boolean);
    const sources = [...me.roots.map(({ source }) => source), ...counts(({ source }) => source).map(([source]) => source).filter((source) => source.startsWith("store."))];
    if (asked.in && !sources.includes(asked.in)) sources.push(asked.in);
    const folders = counts(({ path }) => (path.includes("/") ? path.slice(0, path.indexOf("/") + 1) : "")).slice(0, 8);
    fill(facets,
      sources.length > 1 ? h("section", null, h("h3", null, "Source"), facet("Everywhere", null, !asked.in, { in: "" }),
        sources.map((source) => facet(sourceName(source), asked.in ? null : all.filter((hit) => hit.source === source).length, asked.in === source, { in: asked.in === source ? "" : source }))) : null,
      all.length ? h("section", null, h("h3", null, "Type"), counts(({ doc_type }) => doc_type).map(([type, count]) => facet(TYPES[type] ?? type, count, chosen.includes(type), { type: (chosen.includes(type) ? chosen.filter((one) => one !== type) : [...chosen, type]).join(",") }))) : null,
      folders.length ? h("section", null, h("h3", null, "Folder"), folders.map(([folder, count]) => facet(folder, count, asked.path === folder, { path: asked.path === folder ? "" : folder }))) : null);
  }

  function noHits() {
    const filters = [asked.in ? ["source", { in: "" }] : null, asked.type ? ["type", { type: "" }] : null, asked.path ? ["folder", { path: "" }] : null].filter((one) => one !== null);
    return h("div", { class: "empty" }, icon("search"), h("h2", null, "Nothing was found"),
      filters.length ? h("div", { class: "row" }, filters.map(([name, change]) => h("button", { type: "button", onclick: () => context.open(address(/** @type {object} */ (change))) }, `Drop the ${name} filter`))) : null,
      h("ul", { class: "plainly" }, h("li", null, "Try fewer or other words, or a part of a name."), h("li", null, "Quotes look for words in this order."),
        h("li", null, "A file may be missing: ", h("a", { href: href("status") }, "Status"), " says which are, and why.")));
  }

  function drawEmpty() {
    counted.textContent = "";
    copyAll.hidden = true;
    facets.replaceChildren();
    drawFacets();
    strip.hidden = true;
    const root = me.roots[0];
    const served = h("p", { class: "soft" });
    effect(() => {
      const now = context.progress.value;
      const { all: total } = now ? coverage(now) : { all: 0 };
      served.textContent = !now ? "" : total === 0 && !now.running ? "Nothing is here yet: add files to the folder, and they appear." : `${countText(now.searchable, "file is", "files are")} searchable${now.running ? ", more are being read" : ""}.`;
    }, until);
    fill(boxes, h("div", { class: "empty" }, icon("search"), h("h1", null, root ? `Search ${root.name}` : "Search your files"), served,
      h("ul", { class: "plainly" }, h("li", null, "Words, a question, or the name of a function or file"), h("li", null, "“Quotes” for words in this order"), h("li", null, h("kbd", null, "/"), " from anywhere, ", h("kbd", null, "?"), " for all keys"))));
    fill(preview, h("div", { class: "empty soft" }, "What you choose is shown here, at the place that was found."));
  }

  /** @param {number} index @param {"click" | "open"} how */
  function choose(index, how) {
    const at = Math.max(0, Math.min(index, hits.length - 1));
    const hit = hits[at];
    if (!hit) return;
    if (how === "open" || context.narrow) {
      context.replace(address({ sel: at }), true);
      asked = { ...asked, sel: at };
      list.select(at);
      context.open(hitAddress(hit));
      return;
    }
    asked = { ...asked, sel: at };
    context.replace(address({}), true);
    pick(at);
  }

  /** @param {number} index */
  function pick(index) {
    list.select(index, { focus: list.element.contains(document.activeElement) });
    if (!context.narrow) showPreview(hits[list.chosen]);
  }

  /** @type {FoundHit | undefined} */
  let shown;

  /** @param {FoundHit | undefined} hit */
  async function showPreview(hit) {
    if (!hit || hit === shown) return;
    shown = hit;
    stopPreview.abort();
    stopPreview = new AbortController();
    const { signal } = stopPreview;
    try {
      const file = await fetchFile(hit.source, hit.path, { span: hit.span }, signal);
      if (signal.aborted) return;
      const span = hit.span ?? (hit.bytes && file.lines ? bytesToLines(file.lines.text.join("\n"), hit.bytes[0], hit.bytes[1]) : null);
      fill(preview, head(hit, span), file.changed_since_indexed ? changedBar() : null,
        fileBody(file, { span, focus: span === hit.span ? captioned(hit.snippet).lines : null, words: wordsOf(asked.q), until: signal, onplace: (place) => { showPreview({ ...hit, span: place, bytes: undefined }); } }));
    } catch (error) {
      if (signal.aborted) return;
      shown = undefined;
      fill(preview, head(hit, hit.span), failureBar(error, () => showPreview(hit)), h("pre", { class: "pad same" }, captioned(hit.snippet).text));
    }
  }

  /** @param {FoundHit} hit @param {import("../lib/span.js").Span | null} span */
  function head(hit, span) {
    return h("header", { class: "file-head" },
      h("h2", { class: "grow" }, hit.path, " ", h("span", { class: "soft" }, spanLabel(span, hit.path))),
      hit.id ? whyButton(hit) : null,
      copyButton("Copy citation", () => citation(hit.path, span)),
      h("a", { class: "button", href: hitAddress({ ...hit, span }) }, icon("open"), "Open"));
  }

  /** What the score is made of. @param {FoundHit} hit */
  function whyButton(hit) {
    const button = h("button", { type: "button", class: "plain", "aria-expanded": "false", onclick: async () => {
      const row = preview.querySelector(".why");
      if (row) {
        row.remove();
        return button.setAttribute("aria-expanded", "false");
      }
      const { hits: explained } = await json(`/console/explain?${new URLSearchParams({ q: asked.q, k: String(MOST), ...(asked.path ? { path_prefix: asked.path } : {}) })}`, { signal: until }).catch(() => ({ hits: [] }));
      const parts = explained.find((/** @type {any} */ one) => one.chunk_id === hit.id)?.parts ?? [];
      button.setAttribute("aria-expanded", "true");
      preview.querySelector(".file-head")?.after(h("div", { class: "why row strip", role: "status" }, parts.length
        ? parts.map((/** @type {any} */ part) => h("span", { class: "tag" }, `${part.name.replaceAll("_", " ")} ${part.value.toFixed(2)}`)) : "This hit is not among the best of the same search now."));
    } }, "Why here?");
    return button;
  }

  function changedBar() {
    return h("div", { class: "bar" }, icon("warning"), h("span", { class: "grow" }, "This file changed since it was indexed."), h("button", { type: "button", onclick: () => { last = null; search(); } }, "Search again"));
  }

  context.keys([
    { keys: "j|ArrowDown", what: "Next hit", run: (event) => { event.preventDefault(); choose(list.chosen + 1, "click"); } },
    { keys: "k|ArrowUp", what: "Previous hit", run: (event) => { event.preventDefault(); choose(list.chosen - 1, "click"); } },
    { keys: "Enter", what: "Open the hit", run: (event) => { if (hits.length && !(event.target instanceof Element && event.target.closest("a, button"))) choose(list.chosen, "open"); } },
    { keys: " ", what: "Preview the hit", run: (event) => { if (event.target instanceof Element && event.target.closest(".hit")) { event.preventDefault(); pick(list.chosen); } } },
    { keys: "o", what: "Open the hit in a new tab", run: () => { const hit = hits[list.chosen]; if (hit) window.open(hitAddress(hit), "_blank", "noopener"); } },
    { keys: "c", what: "Copy the citation", run: () => { const hit = hits[list.chosen]; if (hit) navigator.clipboard.writeText(citation(hit.path, hit.span)); } },
  ]);
  context.on((name, data) => {
    if (name === "progress") {
      drawStrip();
      // What was partial is asked again once all is read.
      if (!data.running && wasRunning && asked.q && last === null) search();
      wasRunning = data.running;
      if (data.running) last = null;
    }
  });
  let wasRunning = context.progress.peek()?.running ?? false;
  until.addEventListener("abort", () => { stop.abort(); stopPreview.abort(); clearTimeout(typing); }, { once: true });
  apply(read(route), true);
  if (!context.narrow || !asked.q) queueMicrotask(() => requestAnimationFrame(() => { if (!document.querySelector("dialog[open]") && !asked.sel) field.focus({ preventScroll: true }); }));

  return {
    element,
    update: (to) => apply(read(to), false),
  };
}

/**
 * Scores of different sources do not compare: best of each first, then the second ones.
 * @param {FoundHit[][]} found
 */
function woven(found) {
  return found.flatMap((hits) => hits.map((hit, rank) => ({ hit, rank }))).sort((a, b) => a.rank - b.rank).map(({ hit }) => hit);
}

/** @param {string} path */
function typeOf(path) {
  return /\.(md|markdown)$/i.test(path) ? "md" : /\.(rs|js|ts|py|go|java|c|h|cpp|rb|sh|css|sql)$/i.test(path) ? "code" : /\.(json|csv|ya?ml|toml|tsv)$/i.test(path) ? "data" : "text";
}
