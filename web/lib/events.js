// What happens on the server, as it happens: one stream for the whole page.

import { Offline, online, request } from "./session.js";

/** @typedef {{ id: string, event: string, data: string }} ServerEvent */

/**
 * Cuts a stream of text into events.
 * @param {(event: ServerEvent) => void} emit
 * @returns {(text: string) => void}
 */
export function eventParser(emit) {
  let rest = "";
  return (text) => {
    rest += text;
    for (let end = rest.search(/\r?\n\r?\n/); end >= 0; end = rest.search(/\r?\n\r?\n/)) {
      const block = rest.slice(0, end);
      rest = rest.slice(end).replace(/^\r?\n\r?\n/, "");
      /** @type {ServerEvent} */
      const event = { id: "", event: "message", data: "" };
      const data = [];
      for (const line of block.split(/\r?\n/)) {
        const [, name, value] = /^([a-z]+):? ?(.*)$/s.exec(line) ?? [];
        if (name === "data") data.push(value ?? "");
        else if (name === "event") event.event = value ?? "message";
        else if (name === "id") event.id = value ?? "";
      }
      event.data = data.join("\n");
      if (data.length) emit(event);
    }
  };
}

/**
 * Reads an answer of events to its end.
 * @param {Response} response
 * @param {(event: ServerEvent) => void} emit
 */
export async function readEvents(response, emit) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const parse = eventParser(emit);
  for (;;) {
    const part = await reader?.read();
    if (!part || part.done) return;
    parse(part.value);
  }
}

/**
 * Listens until `until`; after a break again, from where it was, after 0.5 to 10 seconds.
 * @param {(name: string, data: any) => void} emit also `offline` and `online`
 * @param {AbortSignal} until
 */
export async function listen(emit, until) {
  let last = "";
  let wait = 500;
  let instance = "";
  while (!until.aborted) {
    try {
      const response = await request("/console/events", { headers: last ? { "Last-Event-ID": last } : {}, signal: until });
      if (!response.ok) throw new Offline();
      emit("online", null);
      await readEvents(response, ({ id, event, data }) => {
        if (id) last = id;
        wait = 500;
        const body = JSON.parse(data);
        if (event === "hello") {
          if (instance && instance !== body.instance) emit("restarted", body);
          instance = body.instance;
        }
        emit(event, body);
      });
    } catch {
      // What broke is the same to whoever listens.
    }
    if (until.aborted) return;
    online.value = false;
    const pause = wait * (0.75 + Math.random() / 2);
    emit("offline", { seconds: Math.ceil(pause / 1000) });
    await new Promise((go) => {
      const timer = setTimeout(go, pause);
      until.addEventListener("abort", () => { clearTimeout(timer); go(undefined); }, { once: true });
      addEventListener("online", go, { once: true });
    });
    wait = Math.min(wait * 2, 10_000);
  }
}
