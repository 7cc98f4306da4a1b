// Native dialogs: the browser keeps the focus inside, closes on Escape and gives the focus back.

import { h, icon } from "../lib/dom.js";

/**
 * Shows a dialog until it is closed.
 * @param {string} title
 * @param {import("../lib/dom.js").Child[]} content
 * @param {{ wide?: boolean, label?: string }} [options]
 */
export function show(title, content, options = {}) {
  const dialog = h("dialog", { class: options.wide ? "wide" : null, "aria-label": options.label ?? title }, content);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * @param {string} title
 * @param {string} text what will happen
 * @param {string} action what the button says
 * @param {{ danger?: boolean }} [options]
 * @returns {Promise<boolean>}
 */
export function confirm(title, text, action, options = {}) {
  return new Promise((answer) => {
    let yes = false;
    const form = h("form", { method: "dialog" },
      h("h2", null, title), h("p", { class: "soft" }, text),
      h("div", { class: "actions" },
        h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
        h("button", { type: "submit", class: options.danger ? "danger" : "first", onclick: () => { yes = true; } }, action)));
    const dialog = show(title, [form]);
    dialog.addEventListener("close", () => answer(yes));
  });
}

/**
 * @param {string} title
 * @param {Array<{ name: string, label: string, value?: string, hint?: string, pattern?: string, list?: string[] }>} fields
 * @param {string} action
 * @returns {Promise<Record<string, string> | null>}
 */
export function ask(title, fields, action) {
  return new Promise((answer) => {
    /** @type {Record<string, string> | null} */
    let given = null;
    const inputs = fields.map((field, at) => h("div", { class: "arg" },
      h("label", { class: "label", for: `field-${at}` }, field.label),
      h("input", { id: `field-${at}`, "aria-describedby": field.hint ? `hint-${at}` : null, name: field.name, value: field.value ?? "", required: true, pattern: field.pattern, autocomplete: "off", spellcheck: "false",
        list: field.list ? `list-${at}` : null }),
      field.list ? h("datalist", { id: `list-${at}` }, field.list.map((value) => h("option", { value }))) : null,
      field.hint ? h("small", { class: "soft", id: `hint-${at}` }, field.hint) : null));
    const form = h("form", { method: "dialog", onsubmit: () => {
      given = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));
    } },
      h("h2", null, title), inputs,
      h("div", { class: "actions" },
        h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
        h("button", { type: "submit", class: "first" }, action)));
    const dialog = show(title, [form]);
    dialog.addEventListener("close", () => answer(given));
  });
}

/**
 * What went wrong, and what can be done.
 * @param {unknown} error
 * @param {(() => void) | null} [again]
 */
export function failureBar(error, again) {
  const failed = /** @type {any} */ (error);
  const retry = again && failed.retryable !== false ? h("button", { type: "button", onclick: again }, icon("refresh"), "Retry") : null;
  if (retry && failed.after > 0) countDown(retry, failed.after);
  return h("div", { class: "bar bad-bar", role: "alert" }, icon("warning"),
    h("span", { class: "grow" }, h("strong", null, failed.code ?? "ERROR"), ` ${failed.message ?? failed}`, failed.hint ? ` ${failed.hint}` : ""),
    retry);
}

/** @param {HTMLButtonElement} button @param {number} seconds */
function countDown(button, seconds) {
  let left = Math.ceil(seconds);
  const tick = () => {
    button.disabled = left > 0;
    button.textContent = left > 0 ? `Retry in ${left} s` : "Retry";
    if (left-- > 0) setTimeout(tick, 1000);
  };
  tick();
}

/**
 * A button that copies, and says so.
 * @param {string} label
 * @param {() => string} text
 * @param {{ plain?: boolean, short?: boolean }} [options]
 */
export function copyButton(label, text, options = {}) {
  const said = h("span", null, options.short ? "" : label);
  const button = h("button", { type: "button", class: options.plain ? "plain bare" : null, "aria-label": options.short ? label : null, title: label,
    onclick: async () => {
      const copied = await navigator.clipboard.writeText(text()).then(() => true, () => false);
      said.textContent = copied ? "Copied" : "Not allowed";
      setTimeout(() => { said.textContent = options.short ? "" : label; }, 1200);
    } }, icon("copy"), said);
  return button;
}
