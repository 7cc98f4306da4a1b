// The one line in the corner that says how much of the folder can be found.

import { fill, h } from "../lib/dom.js";
import { effect } from "../lib/signal.js";

/** @param {Progress} progress */
export function coverage(progress) {
  const all = progress.searchable + progress.not_searchable;
  return { all, part: all ? Math.floor((100 * progress.searchable) / all) : 100 };
}

/**
 * @param {{ value: Progress | null }} progress
 * @param {{ value: boolean }} online
 */
export function statusLine(progress, online) {
  const line = h("a", { class: "pill", href: "/status" });
  effect(() => {
    const now = progress.value;
    if (!online.value) fill(line, h("span", { class: "dot off" }), "offline");
    else if (!now) fill(line, h("span", { class: "dot" }), "connected");
    else if (now.running) {
      const of = now.to_read ?? coverage(now).all;
      fill(line, h("span", { class: "dot busy" }), `indexing ${now.read.toLocaleString("en")}${of ? `/${of.toLocaleString("en")}` : ""}`);
    } else {
      const { all, part } = coverage(now);
      fill(line, h("span", { class: now.not_searchable ? "dot part" : "dot" }), all ? `${part} % searchable` : "nothing indexed");
    }
  });
  return line;
}
