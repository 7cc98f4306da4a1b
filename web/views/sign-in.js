// The dialog over the view that was wanted.

import { fill, h, icon } from "../lib/dom.js";
import { signIn, wanted } from "../lib/session.js";
import { effect } from "../lib/signal.js";

let shown = false;

/** @param {boolean} linkFailed the page was opened by a link that no longer works */
export function askForToken(linkFailed) {
  if (shown) return;
  shown = true;
  const field = h("input", { type: "password", id: "token", name: "token", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "token-about token-wrong" });
  const eye = h("button", { type: "button", "aria-label": "Show the token", "aria-pressed": "false", onclick: () => {
    const hidden = field.type === "password";
    field.type = hidden ? "text" : "password";
    eye.setAttribute("aria-pressed", String(hidden));
  } }, icon("eye"));
  const wrong = h("p", { id: "token-wrong", class: "bad", role: "alert" });
  const button = h("button", { type: "submit", class: "first" }, "Sign in");
  const note = linkFailed ? "This sign-in link was used or is too old." : wanted.peek()?.expired ? "The server no longer takes the token of this page." : "";
  const form = h("form", { onsubmit: async (/** @type {Event} */ event) => {
    event.preventDefault();
    wrong.textContent = "";
    button.disabled = true;
    try {
      if (!(await signIn(field.value.trim()))) {
        wrong.textContent = "Wrong token.";
        field.select();
      }
    } catch (error) {
      wrong.textContent = /** @type {Error} */ (error).message;
    }
    button.disabled = false;
    field.focus();
  } },
    h("h1", null, "Sign in"),
    note ? h("p", { class: "warn" }, note) : null,
    h("div", { class: "stack" },
      h("label", { class: "label", for: "token" }, "Token"),
      h("div", { class: "with-eye" }, field, eye), wrong),
    h("p", { class: "small soft", id: "token-about" }, "The server printed a sign-in link when it started; ", h("code", null, "dir2mcp console"), " prints a new one. The token itself is in ", h("code", null, ".dir2mcp/secret.token"), ". It stays in the memory of this page."),
    h("div", { class: "actions" }, button));
  const dialog = h("dialog", { "aria-label": "Sign in" }, form);
  // Nothing behind it works without a token.
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  document.body.append(dialog);
  dialog.showModal();
  field.focus();
  const stop = effect(() => {
    if (wanted.value) return;
    field.value = "";
    fill(form);
    dialog.close();
    dialog.remove();
    shown = false;
    queueMicrotask(() => stop());
  });
}
