// Files of the reader's disk into a project, four at a time; what is there already is replaced only when asked.

import { bytesText, countText, fill, h } from "../lib/dom.js";
import { Refused, refusal, request } from "../lib/session.js";
import { confirm } from "./dialog.js";

/**
 * @param {{ chosen: File[], project: string, folder: string, most: number, side: HTMLElement, until: AbortSignal }} given
 */
export async function sendFiles({ chosen, project, folder, most, side, until }) {
  const bar = h("progress", { max: String(chosen.length), value: 0, "aria-label": "Upload" });
  const line = h("p", { role: "status" });
  const problems = h("ul", { class: "small" });
  fill(side, h("div", { class: "pad stack" }, h("h1", null, `Uploading to ${project}/${folder}`), bar, line, problems));
  let [done, failed] = [0, 0];
  /** @type {File[]} */
  const present = [];
  const tell = (end = "") => {
    bar.value = done + failed;
    line.textContent = `${done} of ${chosen.length} uploaded${failed ? `, ${failed} failed` : ""}${end}`;
  };
  /** @param {File} one @param {boolean} over */
  const send = async (one, over) => {
    try {
      if (one.size > most) throw new Refused({ code: "REQUEST_TOO_LARGE", message: `${bytesText(one.size)}; at most ${bytesText(most)} can be uploaded.` });
      const query = new URLSearchParams({ project, path: `/${folder}${one.webkitRelativePath || one.name}` });
      const response = await request(`/api/files/content?${query}`, { method: "PUT", headers: over ? {} : { "If-None-Match": "*" }, body: one, signal: until });
      if (response.status === 412 && !over) present.push(one);
      else if (!response.ok) throw await refusal(response);
      else done += 1;
    } catch (error) {
      failed += 1;
      const refused = /** @type {Refused} */ (error);
      problems.append(h("li", { class: "bad" }, `${one.name}: ${refused.code} ${refused.message}`));
    }
    tell();
  };
  /** @param {File[]} files @param {boolean} over */
  const all = async (files, over) => {
    const queue = [...files];
    await Promise.all([0, 1, 2, 3].map(async () => { for (let one = queue.shift(); one; one = queue.shift()) await send(one, over); }));
  };
  await all(chosen, false);
  if (present.length && await confirm("Replace files?", `${countText(present.length, "file is", "files are")} there already. Their former contents are kept as versions.`, "Replace")) await all(present, true);
  tell(".");
}
