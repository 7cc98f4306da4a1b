// The original of a file, to the reader's disk.

import { h } from "../lib/dom.js";
import { refusal, request } from "../lib/session.js";

/**
 * @param {string} source
 * @param {string} path
 * @param {string} [version]
 */
export async function saveFile(source, path, version) {
  const query = new URLSearchParams({ source, path, ...(version ? { version } : {}) });
  const response = await request(`/console/raw?${query}`);
  if (!response.ok) throw await refusal(response);
  saveBlob(await response.blob(), path.split("/").pop() || "file");
}

/** @param {Blob} blob @param {string} name */
export function saveBlob(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = h("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
