// The keys that work now, and the switch for those of a single letter.

import { h } from "../lib/dom.js";
import { listed, singleKeys } from "../lib/keys.js";
import { signedIn, signOut } from "../lib/session.js";
import { show } from "./dialog.js";

/** @param {string} version */
export function showHelp(version) {
  const names = new Set();
  const rows = [...listed()].reverse().filter(({ keys }) => !names.has(keys) && names.add(keys)).reverse();
  const dialog = show("Help and keys", [h("div", { class: "inside" },
    h("h2", null, "Keys"),
    h("dl", { class: "keys" }, rows.flatMap(({ keys, what }) => [
      h("dt", null, keys.split("|").map((key) => h("kbd", null, key === " " ? "Space" : key))), h("dd", null, what)])),
    h("label", { class: "tick" }, h("input", { type: "checkbox", checked: singleKeys.on, onchange: (/** @type {Event} */ event) => { singleKeys.on = /** @type {HTMLInputElement} */ (event.target).checked; } }), "Keys of a single letter"),
    h("p", { class: "small soft" }, `dir2mcp ${version}. What you see comes from this server and stays on it; nothing is loaded from elsewhere.`),
    h("div", { class: "actions" },
      signedIn.value ? h("button", { type: "button", onclick: () => { dialog.close(); signOut(); } }, "Sign out") : null,
      h("button", { type: "button", class: "first", onclick: () => dialog.close() }, "Close")))], { wide: true });
}
