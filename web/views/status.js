// What is searchable, what is not and why, who asks, and how to connect.

import { bytesText, countText, fill, h, icon, timeText } from "../lib/dom.js";
import { href } from "../lib/router.js";
import { json } from "../lib/session.js";
import { copyButton, failureBar } from "../parts/dialog.js";
import { plot } from "../parts/plot.js";
import { coverage } from "../parts/status-line.js";

/** @type {import("../console.js").MakeView} */
export function view(route, context) {
  const { me, until } = context;
  context.title("Status");
  const whole = h("div", { class: "card" });
  const plots = [h("section", { class: "card third" }), h("section", { class: "card third" }), h("section", { class: "card third" })];
  const missing = h("section", { class: "card" });
  const calls = h("section", { class: "card most" });
  const others = h("section", { class: "card third" });
  const connect = h("section", { class: "card" });
  // Shown when all of it is there, so that nothing moves.
  const sheets = h("div", { class: "sheets", hidden: !me.guest }, whole, ...plots, missing, calls, others, connect);
  const element = h("div", { class: "view" }, h("h1", { class: "unseen" }, "Status"), sheets);
  /** @type {StatusAnswer | null} */
  let status = null;
  let again = 0;
  let reason = route.query.get("reason") ?? "";
  let words = "";
  let type = "";

  async function load() {
    try {
      status = /** @type {StatusAnswer} */ (await json("/console/status", { signal: until }));
      context.progress.value = status.roots[0]?.progress ?? null;
      await draw();
    } catch (error) {
      if (!until.aborted) fill(whole, failureBar(error, load));
    }
    sheets.hidden = false;
  }

  function drawWhole() {
    const root = status?.roots[0];
    const now = context.progress.peek() ?? root?.progress;
    if (!now) return fill(whole, h("p", { class: "soft" }, me.guest ? "This key sees its own files only." : "Nothing is indexed here."));
    const { all, part } = coverage(now);
    fill(whole, h("div", { class: "stack" },
      h("div", { class: "row" }, h("span", { class: "figure" }, `${now.searchable.toLocaleString("en")} of ${all.toLocaleString("en")}`), h("span", { class: "soft grow" }, `files searchable · ${part} %`),
        now.running ? h("span", { class: "tag" }, h("span", { class: "dot busy" }), `indexing, ${now.files_per_s.toFixed(0)} files/s${now.eta_s !== null ? `, about ${Math.ceil(now.eta_s)} s left` : ""}`) : h("span", { class: "tag good" }, icon("check"), "up to date")),
      h("progress", { max: String(Math.max(all, 1)), value: now.searchable, "aria-label": "Searchable files" }),
      h("div", { class: "facts" }, root ? h("span", null, h("code", null, root.path)) : null, h("span", null, countText(now.chunks, "passage")), h("span", null, `${now.embedded.toLocaleString("en")} with vectors`),
        status ? h("span", null, root?.writer.here ? `written by this process (${status.pid})` : `read only here; ${root?.writer.who ?? "another process"} writes`) : null,
        status?.memory_bytes ? h("span", null, bytesText(status.memory_bytes)) : null, status ? h("span", null, `version ${status.version}`) : null),
      root?.damage ? h("div", { class: "bar inset" }, icon("warning"), root.damage) : null,
      root?.notes.map((note) => h("p", { class: "small soft" }, note))));
  }

  function draw() {
    const given = /** @type {StatusAnswer} */ (status);
    drawWhole();
    const { step_s: step, files } = given.indexing_rate;
    fill(plots[0] ?? missing, h("h2", null, "Indexing, last 10 minutes"), plot({ title: "Indexing", unit: `files / ${step} s`, empty: "Nothing was read in the last 10 minutes.", header: "Time",
      bars: files.map((value, at) => ({ label: `${(files.length - at) * step} s ago`, values: [{ value }], tick: at === 0 ? "−10 min" : at === files.length - 1 ? "now" : "" })) }));
    const buckets = new Map();
    for (const tool of given.tools) for (const { le_ms, count } of tool.buckets) buckets.set(le_ms, (buckets.get(le_ms) ?? 0) + count);
    fill(plots[1] ?? missing, h("h2", null, "Time of calls"), plot({ title: "Time of calls", unit: "calls", empty: "No tool was called in the last 10 minutes.", header: "At most", bars: [...buckets].map(([ms, value]) => ({ label: ms === null ? "longer" : `${ms} ms`, values: [{ value }], tick: ms === null ? "more" : String(ms) })) }),
      given.tools.length ? h("p", { class: "small soft" }, given.tools.map((tool) => `${tool.tool} p95 ${tool.p95_ms.toFixed(0)} ms`).slice(0, 4).join(" · ")) : null);
    const documents = given.roots.flatMap((root) => root.documents);
    const types = [...new Set(documents.map((one) => one.doc_type))];
    const kind = (/** @type {string} */ one) => (one === "ok" ? "ok" : one === "error" ? "error" : "other");
    const sum = (/** @type {string} */ one, /** @type {string} */ which) => documents.filter((row) => row.doc_type === one && kind(row.status) === which).reduce((total, row) => total + row.count, 0);
    fill(plots[2] ?? missing, h("h2", null, "Documents by type"), plot({ title: "Documents by type", unit: "files", empty: "There are no documents.", header: "Type", bars: types.map((one) => ({ label: one, tick: one, values: ["ok", "other", "error"].map((which) => ({ value: sum(one, which), kind: which })) })) }),
      h("div", { class: "legend" }, h("span", null, h("i"), "searchable"), h("span", null, h("i", { class: "l-other" }), "not read"), h("span", null, h("i", { class: "l-error" }), "failed")));
    drawCalls();
    fill(others, h("h2", null, "Models"), h("table", null, h("tbody", null, given.models.map((one) => h("tr", null, h("td", null, one.capability), h("td", null, one.model ? `${one.model}` : one.provider, one.detail ? h("div", { class: "small soft" }, one.detail) : null), h("td", { class: "right" }, h("span", { class: `tag ${one.state === "ready" ? "good" : one.state === "trouble" ? "bad" : ""}` }, one.state)))))),
      h("h2", null, "Sessions"), h("p", { class: "soft" }, `${countText(given.sessions.open, "session")} open, ${countText(given.streams, "page")} listening.`),
      given.sessions.list.length ? h("ul", null, given.sessions.list.map((one) => h("li", { class: "row" }, h("span", { class: "grow" }, one.client), h("span", { class: "small soft" }, `${one.idle_s} s idle`)))) : null);
    others.classList.add("stack");
    return drawMissing();
  }

  function drawCalls() {
    const lines = status?.recent_calls ?? [];
    fill(calls, h("h2", null, "Recent calls"), lines.length ? h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Recent calls" }, h("table", null, h("thead", null, h("tr", null, ["Time", "Tool", "Outcome", "Took", "Caller"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", null, lines.slice(0, 15).map((line) => h("tr", null, h("td", null, timeText(line.at)), h("td", null, h("code", null, line.tool)), h("td", null, line.ok ? h("span", { class: "tag good" }, "ok") : h("span", { class: "tag bad" }, line.error_code ?? "failed")), h("td", null, `${Math.round(line.duration_ms)} ms`), h("td", null, line.caller)))))) : h("p", { class: "soft" }, "No tool was called yet."));
  }

  const rows = h("div");
  const found = h("span", { class: "tag" });
  const field = h("input", { type: "search", "aria-label": "Filter by path", placeholder: "Filter by path…", oninput: () => { words = field.value; clearTimeout(again); again = setTimeout(drawRows, 120); } });
  const byReason = h("select", { "aria-label": "Reason", onchange: () => { reason = byReason.value; context.replace(href("status", [], { reason }), true); drawRows(); } });
  const byType = h("select", { "aria-label": "Type", onchange: () => { type = byType.value; drawRows(); } });

  function query(limit = 100) {
    const [code, label] = reason.split("\u0001");
    return new URLSearchParams({ source: "dir", status: "not_searchable", ...(code && !label ? { code } : {}), ...(type ? { type } : {}), ...(words ? { filter: words } : {}), limit: String(limit) });
  }

  function drawMissing() {
    const root = status?.roots[0];
    const reasons = new Map((root?.reasons ?? []).map((one) => [one.code, one.label]));
    fill(byReason, h("option", { value: "" }, "Any reason"), [...reasons].map(([code, label]) => h("option", { value: code, selected: code === reason }, label)));
    fill(byType, h("option", { value: "" }, "Any type"), [...new Set((root?.documents ?? []).map((one) => one.doc_type))].map((one) => h("option", { value: one, selected: one === type }, one)));
    if (!missing.contains(rows)) {
      fill(missing, h("h2", null, h("span", null, "Not searchable"), found, h("span", { class: "grow" }), byReason, byType, field,
        h("button", { type: "button", onclick: async () => (await import("../parts/save-file.js")).saveBlob(new Blob([JSON.stringify(await json(`/console/files?${query(10000)}`), null, 2)]), "not-searchable.json") }, icon("download"), "Export JSON")), rows);
    }
    return drawRows();
  }

  async function drawRows() {
    if (!status?.roots.length) return;
    try {
      const answer = await json(`/console/files?${query()}`, { signal: until });
      found.textContent = answer.total.toLocaleString("en");
      const ignored = status.roots[0]?.ignored ?? [];
      fill(rows, answer.files.length ? h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Files that are not searchable" }, h("table", null, h("thead", null, h("tr", null, ["File", "Type", "Why", "What to do"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", null, answer.files.map((/** @type {UnsearchableFile} */ one) => h("tr", null, h("td", null, h("a", { href: href("file", ["dir", one.path]) }, one.path)), h("td", null, one.doc_type), h("td", null, one.reason ?? one.status), h("td", { class: "soft" }, one.remedy ?? "")))))) : h("p", { class: "soft" }, words || reason || type ? "No file matches." : "Every file that was found is searchable."),
        answer.truncated ? h("p", { class: "small soft" }, `${answer.files.length} of ${answer.total.toLocaleString("en")} are shown; the export has more.`) : null,
        ignored.length ? h("p", { class: "small soft" }, `Left out by rules: ${ignored.map((one) => `${one.rule} (${countText(one.files, "file")})`).join(", ")}.`) : null);
    } catch (error) {
      if (!until.aborted) fill(rows, failureBar(error, drawRows));
    }
  }

  async function drawConnect() {
    try {
      const answer = await json("/console/connect", { signal: until });
      const text = h("div", { class: "stack" });
      /** @param {any} client */
      const choose = (client) => fill(text, client.steps.map((/** @type {any} */ step) => h("div", { class: "stack" }, h("div", { class: "row" }, h("span", { class: "grow" }, step.what), copyButton("Copy", () => step.text)), h("pre", { class: "json", tabindex: "0" }, step.text))));
      const select = h("select", { "aria-label": "Client", onchange: () => choose(answer.clients.find((/** @type {any} */ one) => one.id === select.value)) }, answer.clients.map((/** @type {any} */ one) => h("option", { value: one.id }, one.title)));
      fill(connect, h("h2", null, h("span", { class: "grow" }, "Connect a client"), select), text,
        answer.curl ? h("details", null, h("summary", null, "curl"), h("div", { class: "row" }, h("span", { class: "grow" }), copyButton("Copy curl", () => answer.curl)), h("pre", { class: "json", tabindex: "0" }, answer.curl)) : null);
      if (answer.clients[0]) choose(answer.clients[0]);
    } catch (error) {
      if (!until.aborted) fill(connect, h("h2", null, "Connect a client"), failureBar(error, drawConnect));
    }
  }

  let stale = 0;
  context.on((name, data) => {
    if (name === "progress") {
      drawWhole();
      clearTimeout(stale);
      stale = setTimeout(load, data.running ? 1500 : 150);
    } else if (name === "call" && status) {
      status.recent_calls = [data, ...status.recent_calls].slice(0, 100);
      drawCalls();
    } else if (name === "gap" || name === "restarted") load();
  });
  until.addEventListener("abort", () => { clearTimeout(stale); clearTimeout(again); }, { once: true });
  if (me.guest) {
    drawWhole();
    for (const card of [...plots, missing, calls, others, connect]) card.hidden = true;
  } else {
    load();
    drawConnect();
  }
  return { element, update: (to) => { reason = to.query.get("reason") ?? ""; drawMissing(); } };
}
