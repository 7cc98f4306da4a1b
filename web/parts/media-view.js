// Recordings with their transcript, pictures with the text in them.

import { bytesText, fill, h, icon } from "../lib/dom.js";
import { href } from "../lib/router.js";
import { refusal, request } from "../lib/session.js";
import { clock, spanToHash } from "../lib/span.js";
import { markedText, nothing } from "./file-view.js";

/** @typedef {import("./file-view.js").How} How */

/** @param {FileAnswer} file @param {How} how */
export function recording(file, how) {
  const span = how.span;
  const audio = file.media ? player(file, how, "audio") : null;
  const list = h("ol", { class: "segments", "aria-label": "Transcript" }, (file.segments ?? []).map((segment) => {
    const marked = span?.kind === "time" && segment.start_ms < Math.max(span.end_ms, span.start_ms + 1) && span.start_ms < segment.end_ms;
    const item = h("li", { class: marked ? "marked arrived" : null },
      h("a", { href: href("file", [file.source, file.path], {}, spanToHash({ kind: "time", start_ms: segment.start_ms, end_ms: segment.end_ms })) }, `${clock(segment.start_ms)}–${clock(segment.end_ms)}`),
      h("span", null, markedText(segment.text, how.words ?? [])));
    if (marked) requestAnimationFrame(() => item.scrollIntoView({ block: "center" }));
    return item;
  }));
  return [audio, file.segments?.length ? list : nothing(file)];
}

/** @param {FileAnswer} file @param {How} how */
export function picture(file, how) {
  return [player(file, how, "img"), file.lines?.text.length ? h("h2", { class: "pad-x" }, "Recognised text") : nothing(file)];
}

/**
 * Bytes that were fetched with the token, as something that the browser can show.
 * @param {FileAnswer} file
 * @param {How} how
 * @param {"audio" | "img"} tag
 */
function player(file, how, tag) {
  const holder = h("div", { class: "media" });
  const type = file.media?.type ?? "";
  if (!/^(audio|video)\/|^image\/(png|jpeg|gif|webp|bmp|avif)$/.test(type)) return holder;
  const load = async () => {
    fill(holder, h("span", { class: "soft" }, "Loading…"));
    const response = await request(`/console/raw?${new URLSearchParams({ source: file.source, path: file.path })}`, { signal: how.until });
    if (!response.ok) throw await refusal(response);
    const blob = new Blob([await response.arrayBuffer()], { type });
    if (tag === "img") {
      // A picture may come from data: only; what it shows is drawn, never run.
      const reader = new FileReader();
      reader.onload = () => fill(holder, h("img", { alt: file.name, src: String(reader.result) }));
      reader.readAsDataURL(blob);
      return;
    }
    const address = URL.createObjectURL(blob);
    how.until.addEventListener("abort", () => URL.revokeObjectURL(address), { once: true });
    const audio = h("audio", { controls: true, preload: "metadata", src: address, "aria-label": `Recording ${file.name}` });
    const span = how.span;
    if (span?.kind === "time") audio.addEventListener("loadedmetadata", () => { audio.currentTime = span.start_ms / 1000; }, { once: true });
    fill(holder, audio);
  };
  const failed = (/** @type {any} */ error) => fill(holder, h("p", { class: "soft" }, error.message));
  if ((file.media?.bytes ?? 0) <= 8e6) load().catch(failed);
  else fill(holder, h("button", { type: "button", onclick: () => load().catch(failed) }, icon("play"), `Load ${bytesText(file.media?.bytes ?? 0)}`));
  return holder;
}
