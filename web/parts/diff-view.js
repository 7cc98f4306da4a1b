// Two or three texts side by side, hunk by hunk, and the choice among them.

import { fill, h } from "../lib/dom.js";

if (typeof document === "object") document.head.append(h("link", { rel: "stylesheet", href: "/console/parts/diff-view.css" }));

/** @typedef {"mine" | "theirs" | "both"} Choice */

/**
 * The text that hunks and choices make; null while a conflict is open.
 * @param {Hunk[]} hunks
 * @param {Map<number, Choice>} choices by index of the hunk
 * @param {boolean} endsWithNewline
 */
export function merged(hunks, choices, endsWithNewline) {
  /** @type {string[]} */
  const lines = [];
  for (const [at, hunk] of hunks.entries()) {
    const choice = choices.get(at) ?? (hunk.kind === "mine" || hunk.kind === "both" ? "mine" : hunk.kind === "theirs" ? "theirs" : null);
    if (hunk.kind === "same") lines.push(...(hunk.lines ?? []));
    else if (choice === "both" && hunk.kind !== "both") lines.push(...(hunk.theirs ?? []), ...(hunk.mine ?? []));
    else if (choice === "mine" || choice === "both") lines.push(...(hunk.mine ?? []));
    else if (choice === "theirs") lines.push(...(hunk.theirs ?? []));
    else return null;
  }
  return lines.join("\n") + (endsWithNewline && lines.length ? "\n" : "");
}

/** Unchanged lines far from a change are folded. @param {string[]} lines @param {boolean} first @param {boolean} last */
function folded(lines, first, last) {
  const [head, tail] = [first ? 0 : 3, last ? 0 : 3];
  if (lines.length <= head + tail + 2) return h("pre", { class: "same" }, lines.join("\n"));
  return [
    head ? h("pre", { class: "same" }, lines.slice(0, head).join("\n")) : null,
    h("details", { class: "pad-x small" }, h("summary", null, `${lines.length - head - tail} unchanged lines`), h("pre", { class: "same" }, lines.slice(head, lines.length - tail).join("\n"))),
    tail ? h("pre", { class: "same" }, lines.slice(-tail).join("\n")) : null,
  ];
}

/**
 * What changed from one text to another.
 * @param {MergeAnswer} answer of a two-way compare: theirs is the old one
 */
export function changes(answer) {
  const last = answer.hunks.length - 1;
  if (!answer.hunks.some((hunk) => hunk.kind !== "same")) return h("p", { class: "pad soft" }, "Nothing changed.");
  return h("div", { class: "hunk mono" }, answer.hunks.map((hunk, at) => hunk.kind === "same"
    ? folded(hunk.lines ?? [], at === 0, at === last)
    : h("div", null, (hunk.theirs ?? []).map((line) => h("del", { class: "minus" }, line)), (hunk.mine ?? []).map((line) => h("ins", { class: "plus" }, line)))));
}

/**
 * @param {MergeAnswer} answer
 * @param {(text: string | null, left: number) => void} changed
 */
export function mergeView(answer, changed) {
  /** @type {Map<number, Choice>} */
  const choices = new Map();
  const ends = answer.final_newline?.mine ?? true;
  const element = h("div", { class: "pad", role: "group", "aria-label": "Compare" });
  const total = answer.hunks.filter((hunk) => hunk.kind === "conflict").length;
  const draw = () => {
    let number = 0;
    fill(element, answer.hunks.map((hunk, at) => {
      if (hunk.kind === "same") return folded(hunk.lines ?? [], at === 0, at === answer.hunks.length - 1);
      const conflict = hunk.kind === "conflict";
      if (conflict) number += 1;
      const choice = choices.get(at) ?? (hunk.kind === "mine" || hunk.kind === "both" ? "mine" : hunk.kind === "theirs" ? "theirs" : null);
      /** @param {Choice} which @param {string} label */
      const button = (which, label) => h("button", { type: "button", "aria-pressed": String(choice === which), onclick: () => { choices.set(at, which); draw(); } }, label);
      /** @param {string} label @param {string[] | undefined} lines @param {boolean} chosen */
      const side = (label, lines, chosen) => h("div", { class: `side${chosen ? " chosen" : ""}` }, h("h4", null, label), h("pre", null, (lines ?? []).join("\n")));
      return h("section", { class: `hunk${conflict && !choice ? " unsolved" : ""}`, "aria-label": conflict ? `Conflict ${number} of ${total}` : `Change: ${hunk.kind}` },
        h("header", null, h("strong", { class: "grow" }, conflict ? `Conflict ${number} of ${total}` : hunk.kind === "both" ? "The same change on both sides" : hunk.kind === "mine" ? "Changed by you" : "Changed by them"),
          button("mine", "Mine"), button("theirs", "Theirs"), button("both", "Both")),
        h("div", { class: "sides" }, hunk.base?.length || !conflict ? side("Base", hunk.base, false) : null, side("Theirs", hunk.theirs, choice === "theirs" || choice === "both"), side("Mine", hunk.mine, choice === "mine" || choice === "both")));
    }));
    const left = answer.hunks.filter((hunk, at) => hunk.kind === "conflict" && !choices.has(at)).length;
    changed(merged(answer.hunks, choices, ends), left);
  };
  draw();
  return element;
}
