// Writing a file of a project: the text, what others did meanwhile, the choice between the two, and former contents.

import { bytesText, countText, fill, h, icon, timeText } from "../lib/dom.js";
import { json } from "../lib/session.js";
import { confirm, failureBar } from "./dialog.js";
import { changes, mergeView } from "./diff-view.js";

/** @typedef {{ text: string, base: string, hash: string }} Draft */
/**
 * @typedef {{ path: string, at: string, drafts: Map<string, Draft>, side: HTMLElement, head: (actions: import("../lib/dom.js").Child[]) => HTMLElement,
 *   store: (tool: string, args: Record<string, unknown>) => Promise<any>, fail: (error: unknown) => void, say: (text: string) => void,
 *   isHere: () => boolean, shown: () => Promise<unknown>, refresh: () => unknown, restore: (version: number) => Promise<void> }} Desk
 */

/**
 * @param {Desk} desk
 * @param {Draft} draft
 * @returns {(who: string) => Promise<void>} to be called when the file changes
 */
export function openEditor(desk, draft) {
  const path = `/${desk.path}`;
  const area = h("textarea", { "aria-label": `Text of ${desk.path}`, spellcheck: "false", value: draft.text, oninput: () => {
    draft.text = area.value;
    note();
  }, onkeydown: (/** @type {KeyboardEvent} */ event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
      event.preventDefault();
      save();
    } else if (event.key === "Escape" && draft.text === draft.base) leave();
  } });
  const state = h("span", { class: "small soft grow", role: "status" });
  const bars = h("div");
  const saveButton = h("button", { type: "button", class: "first", onclick: () => save() }, "Save");

  function note() {
    if (draft.text === draft.base) desk.drafts.delete(desk.at);
    else desk.drafts.set(desk.at, draft);
    state.textContent = draft.text === draft.base ? "No changes" : "Unsaved changes; Ctrl+S saves";
  }

  function leave() {
    desk.drafts.delete(desk.at);
    desk.shown();
  }

  /** @param {string} who */
  async function conflict(who) {
    if (!desk.isHere() || bars.childNodes.length) return;
    const theirs = await desk.store("file_read", { path }).catch(() => null);
    if (!theirs || theirs.content_hash === draft.hash) return;
    const compare = h("button", { type: "button", class: "first", onclick: () => compareWith(desk, draft, theirs) }, "Compare");
    fill(bars, h("div", { class: "bar", role: "alert" }, icon("warning"), h("span", { class: "grow" }, `Changed while you were editing${who ? ` (by ${who})` : ""}.`), compare,
      h("button", { type: "button", onclick: leave }, "Keep theirs"),
      h("button", { type: "button", onclick: () => {
        // Checked again: it is saved over what was seen, not over what came later.
        [draft.hash, draft.base] = [theirs.content_hash, theirs.content];
        bars.replaceChildren();
        save();
      } }, "Save mine as a new version")));
    if (document.activeElement !== area) compare.focus();
  }

  async function save() {
    saveButton.disabled = true;
    try {
      const sent = draft.text;
      const written = await desk.store("file_write", { path, content: sent, mode: "TRUNCATE", expected_hash: draft.hash });
      [draft.hash, draft.base] = [written.content_hash, sent];
      desk.say("Saved");
      if (draft.text === sent) {
        desk.drafts.delete(desk.at);
        await desk.shown();
        desk.refresh();
      } else note();
    } catch (error) {
      const refused = /** @type {import("../lib/session.js").Refused} */ (error);
      bars.replaceChildren();
      if (refused.code === "PRECONDITION_FAILED") await conflict("");
      else fill(bars, failureBar(error, save));
    }
    saveButton.disabled = false;
  }

  fill(desk.side, desk.head([h("span", { class: "tag" }, "editing")]), bars, h("div", { class: "editor" }, area, h("footer", null, state, h("button", { type: "button", onclick: async () => {
    if (draft.text === draft.base || await confirm("Discard changes?", "What you typed is lost.", "Discard", { danger: true })) leave();
  } }, "Cancel"), saveButton)));
  note();
  area.focus();
  area.setSelectionRange(0, 0);
  area.scrollTop = 0;
  return conflict;
}

/**
 * @param {string | null} base
 * @param {string} theirs
 * @param {string} mine
 * @returns {Promise<MergeAnswer>}
 */
function merge(base, theirs, mine) {
  return json("/console/merge", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ base, theirs, mine }) });
}

/**
 * @param {Desk} desk
 * @param {Draft} draft
 * @param {{ content: string, content_hash: string }} theirs
 */
async function compareWith(desk, draft, theirs) {
  const path = `/${desk.path}`;
  try {
    const answer = await merge(draft.base, theirs.content, draft.text);
    let result = /** @type {string | null} */ (null);
    const save = h("button", { type: "button", class: "first", onclick: async () => {
      if (result === null) return;
      try {
        await desk.store("file_write", { path, content: result, mode: "TRUNCATE", expected_hash: theirs.content_hash });
        desk.drafts.delete(desk.at);
        desk.say("Saved");
        desk.shown();
      } catch (error) {
        const refused = /** @type {import("../lib/session.js").Refused} */ (error);
        if (refused.code !== "PRECONDITION_FAILED") return desk.fail(error);
        // Someone was faster again: the same with what is there now.
        [draft.text, draft.base] = [result, theirs.content];
        compareWith(desk, draft, await desk.store("file_read", { path }));
      }
    } }, "Save merged");
    const left = h("span", { class: "grow small soft", role: "status" });
    const compare = mergeView(answer, (text, open) => {
      result = text;
      save.disabled = text === null;
      left.textContent = open ? `${countText(open, "conflict")} to choose` : "Nothing left to choose";
    });
    fill(desk.side, desk.head([h("span", { class: "tag" }, "comparing")]), h("div", { class: "file-body", tabindex: "-1" }, compare),
      h("div", { class: "foot" }, left, h("button", { type: "button", onclick: () => openEditor(desk, draft) }, "Back to editing"), save));
    /** @type {HTMLElement | null} */ (desk.side.querySelector(".unsolved button"))?.focus();
  } catch (error) {
    desk.fail(error);
  }
}

/**
 * The former contents of a file, newest first.
 * @param {Desk} desk
 * @param {HTMLElement} list that they are put into
 */
export async function versions(desk, list) {
  const path = `/${desk.path}`;
  /** @param {number} version @param {HTMLElement} into */
  const compare = async (version, into) => {
    try {
      const [old, now] = await Promise.all([desk.store("file_version_read", { path, version }), desk.store("file_read", { path }).catch(() => ({ content: "" }))]);
      fill(into, h("h2", null, `v${version} → now`), changes(await merge(null, old.content, now.content)));
      into.scrollIntoView({ block: "nearest" });
    } catch (error) {
      fill(into, failureBar(error));
    }
  };
  try {
    const { versions: all } = await desk.store("file_versions", { path });
    if (!all.length) return void fill(list, h("p", { class: "soft" }, "There is no former content."));
    const diff = h("div");
    fill(list, h("table", null, h("thead", null, h("tr", null, h("th", { scope: "col" }, "Version"), h("th", { scope: "col" }, "Replaced"), h("th", { scope: "col", class: "right" }, "Size"), h("th", { scope: "col" }, h("span", { class: "unseen" }, "Actions")))),
      h("tbody", null, all.map((/** @type {any} */ one) => h("tr", null, h("td", null, `v${one.version}`), h("td", null, timeText(one.created_at)), h("td", { class: "right" }, bytesText(one.size)),
        h("td", { class: "right" }, h("button", { type: "button", "aria-label": `Compare v${one.version} with the present content`, onclick: () => compare(one.version, diff) }, "Compare"), " ",
          h("button", { type: "button", "aria-label": `Restore v${one.version}`, onclick: () => desk.restore(one.version) }, "Restore")))))), diff);
  } catch (error) {
    fill(list, failureBar(error, () => versions(desk, list)));
  }
}
