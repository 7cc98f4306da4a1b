// Every tool that agents have, tried by hand: a form from its schema, the same as JSON, and the call as others would make it.

import { fill, h, icon } from "../lib/dom.js";
import { listTools, message, pathOf, tryCall } from "../lib/mcp.js";
import { href } from "../lib/router.js";
import { confirm, copyButton, failureBar } from "../parts/dialog.js";
import { schemaForm } from "../parts/schema-form.js";

/** @typedef {import("../lib/mcp.js").Tool} Tool */

/** Calls of this page, newest first. @type {Array<{ contract: string, tool: string, args: any, ok: boolean, ms: number }>} */
const history_ = [];

/** @type {import("../console.js").MakeView} */
export function view(route, context) {
  const { me, until } = context;
  const list = h("nav", { class: "tool-list", "aria-label": "List of tools" });
  const place = h("section", { class: "tool", "aria-label": "Tool", tabindex: "-1" });
  const element = h("div", { class: "tools" }, list, place);
  /** @type {Map<string, Tool[]>} */
  const known = new Map();
  let [contract, name] = ["", ""];

  async function load() {
    try {
      await Promise.all(me.mcp.contracts.map(async (one) => known.set(one.name, await listTools(one.name, until))));
    } catch (error) {
      if (!until.aborted) fill(place, failureBar(error, load));
      return;
    }
    update(route);
  }

  /** @param {import("../lib/router.js").Route} to */
  function update(to) {
    route = to;
    if (!known.size) return;
    [contract, name] = [to.parts[0] ?? "", to.parts[1] ?? ""];
    const first = me.mcp.contracts.find((one) => known.get(one.name)?.length);
    element.classList.toggle("opened", Boolean(name));
    if (!name && !context.narrow && first) [contract, name] = [first.name, known.get(first.name)?.[0]?.name ?? ""];
    fill(list, me.mcp.contracts.map((one) => [h("h2", null, one.name), h("ul", null, (known.get(one.name) ?? []).map((tool) => h("li", null, h("a", { href: href("tools", [one.name, tool.name]), "aria-current": one.name === contract && tool.name === name ? "page" : null }, h("span", { class: "grow" }, tool.name), writes(tool) ? h("span", { class: "tag warn" }, "writes") : null))))]));
    const tool = known.get(contract)?.find((one) => one.name === name);
    context.title(tool ? tool.name : "Tools");
    if (tool) draw(tool);
    else fill(place, h("div", { class: "empty" }, icon("tools"), h("h1", null, name ? "There is no such tool" : "Choose a tool")));
  }

  /** @param {Tool} tool */
  function draw(tool) {
    const json = h("textarea", { "aria-label": "Arguments as JSON", rows: "12", spellcheck: "false", oninput: () => {
      try {
        form.write(JSON.parse(json.value || "{}"));
        json.setCustomValidity("");
        wrong.textContent = "";
        drawCurl();
      } catch (error) {
        wrong.textContent = `Not JSON: ${/** @type {Error} */ (error).message}`;
      }
    } });
    const wrong = h("p", { class: "small bad", role: "status" });
    const form = schemaForm(tool.inputSchema, () => { json.value = JSON.stringify(form.read(), null, 2); wrong.textContent = ""; drawCurl(); });
    const curl = h("pre", { class: "json", tabindex: "0" });
    const result = h("section", { class: "stack", "aria-label": "Result" });
    const run = h("button", { type: "submit", class: "first" }, icon("play"), "Run");
    const drawCurl = () => { curl.textContent = curlOf(tool, readArgs() ?? {}); };
    const readArgs = () => {
      try {
        return JSON.parse(json.value || "{}");
      } catch {
        return null;
      }
    };
    const submit = async (/** @type {Event} */ event) => {
      event.preventDefault();
      const args = readArgs();
      if (args === null) return json.focus();
      const price = tool._meta?.price ?? tool.annotations?.price;
      if (writes(tool) && !(await confirm(`Run ${tool.name}?`, "This tool changes something: files of a project, or the index.", "Run"))) return;
      if (price && price !== "free" && !(await confirm(`Run ${tool.name}?`, "This tool may cost money: it asks a service that you pay.", "Run"))) return;
      run.disabled = true;
      try {
        const outcome = await tryCall(tool.name, args, until);
        history_.unshift({ contract, tool: tool.name, args, ok: !outcome.isError, ms: outcome.milliseconds });
        history_.length = Math.min(history_.length, 50);
        drawResult(outcome);
        drawHistory();
      } catch (error) {
        if (!until.aborted) fill(result, failureBar(error));
      }
      run.disabled = false;
    };
    /** @param {import("../lib/mcp.js").Outcome} outcome */
    const drawResult = (outcome) => {
      const texts = { Structured: JSON.stringify(outcome.structured ?? null, null, 2), Text: outcome.content.map((part) => (part.type === "text" ? part.text : `[${part.type} ${part.mimeType ?? ""}]`)).join("\n") };
      let shown = /** @type {keyof typeof texts} */ ("Structured");
      const body = h("pre", { class: "json", tabindex: "0" }, texts.Structured);
      const tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "Result as" });
      const drawTabs = () => fill(tabs, Object.keys(texts).map((label) => h("button", { type: "button", role: "tab", "aria-selected": String(label === shown), onclick: () => { shown = /** @type {keyof typeof texts} */ (label); body.textContent = texts[shown]; drawTabs(); } }, label)));
      drawTabs();
      fill(result, h("div", { class: "row" }, h("h2", null, "Result"), h("span", { class: outcome.isError ? "tag bad" : "tag good" }, outcome.isError ? "failed" : "ok"), h("span", { class: "small soft grow", role: "status" }, `${Math.round(outcome.milliseconds)} ms`), copyButton("Copy result", () => texts[shown])), tabs, body);
      result.scrollIntoView({ block: "nearest" });
    };
    const past = h("div", { class: "stack" });
    const drawHistory = () => {
      const mine = history_.filter((one) => one.tool === tool.name).slice(0, 8);
      fill(past, mine.length ? [h("h2", null, "History"), h("ul", null, mine.map((one) => h("li", null, h("button", { type: "button", class: "plain", onclick: () => { json.value = JSON.stringify(one.args, null, 2); form.write(one.args); drawCurl(); } }, h("code", { class: "clip" }, JSON.stringify(one.args).slice(0, 120)), h("span", { class: one.ok ? "tag good" : "tag bad" }, one.ok ? "ok" : "failed"), h("span", { class: "small soft" }, `${Math.round(one.ms)} ms`)))))] : null);
    };
    form.write({});
    json.value = JSON.stringify(form.read(), null, 2);
    fill(place,
      h("header", { class: "stack" }, h("div", { class: "row" }, h("a", { class: "button bare narrow-only", href: href("tools"), "aria-label": "Back to the tools" }, icon("back")), h("h1", { class: "mono" }, tool.name), writes(tool) ? h("span", { class: "tag warn" }, icon("warning"), "writes") : h("span", { class: "tag" }, "reads")), h("p", { class: "lead" }, tool.description ?? "")),
      h("form", { class: "stack", novalidate: true, "aria-label": `Arguments of ${tool.name}`, onsubmit: submit }, h("div", { class: "halves" }, h("div", { class: "stack" }, h("h2", null, "Arguments"), form.element), h("div", { class: "stack" }, h("h2", null, "JSON"), json, wrong,
        h("details", null, h("summary", null, "Schema"), h("pre", { class: "json", tabindex: "0" }, JSON.stringify(tool.inputSchema, null, 2))),
        h("details", null, h("summary", null, "curl"), h("div", { class: "row" }, h("span", { class: "grow" }), copyButton("Copy curl", () => curl.textContent ?? "")), curl))), h("div", null, run)),
      result, past);
    drawCurl();
    drawHistory();
    place.scrollTop = 0;
  }

  /** @param {Tool} tool @param {any} args */
  function curlOf(tool, args) {
    const { body, headers } = message("tools/call", { name: tool.name, arguments: args });
    const quoted = (/** @type {string} */ text) => `'${text.replace(/'/g, `'\\''`)}'`;
    return [`curl -s ${location.origin}${pathOf(contract)}`, ...Object.entries(headers).map(([key, value]) => `-H ${quoted(`${key}: ${value}`)}`), `-H "Authorization: Bearer $DIR2MCP_TOKEN"`, `-d ${quoted(JSON.stringify(body))}`].join(" \\\n  ");
  }

  load();
  return { element, update };
}

/** @param {Tool} tool */
function writes(tool) {
  return tool.annotations?.readOnlyHint === false;
}
