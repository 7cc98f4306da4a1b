// Who asks. The token lives in this closure and nowhere else: not in an address, a store, a cookie or an element.

import { signal } from "./signal.js";

/** What the server refused, in the words of its public codes. */
export class Refused extends Error {
  /**
   * @param {{ code?: string, message?: string, retryable?: boolean, hint?: string, status?: number, after?: number, data?: unknown }} facts
   */
  constructor(facts) {
    super(facts.message || "The server refused the request.");
    this.code = facts.code ?? "INTERNAL_ERROR";
    this.retryable = facts.retryable ?? false;
    this.hint = facts.hint ?? "";
    this.status = facts.status ?? 0;
    /** Seconds after which to try again. */
    this.after = facts.after ?? 0;
    this.data = facts.data;
  }
}

/** No answer came. */
export class Offline extends Refused {
  constructor() {
    super({ code: "UNREACHABLE", message: "The server does not answer.", retryable: true });
  }
}

/** Whether the server answered last time. */
export const online = signal(true);

/** What the sign-in dialog has to ask, or null. */
export const wanted = signal(/** @type {null | { wrong: boolean, expired: boolean }} */ (null));

/** Whether there is a token; it says nothing about which. */
export const signedIn = signal(false);

/** The sign-in link was used or is too old. */
export const linkFailed = signal(false);

/** @type {string | null} */
let token = null;

/** @type {Array<() => void>} those who wait for a token */
let waiting = [];

/** @type {Promise<void> | null} */
let adoption = null;

const channel = typeof document === "object" && typeof BroadcastChannel === "function" ? new BroadcastChannel("dir2mcp-sign-in") : null;
channel?.addEventListener("message", ({ data }) => {
  if (data?.want === true && token) channel.postMessage({ token });
  else if (typeof data?.token === "string" && data.token !== token) take(data.token);
});

/** @param {string} next */
function take(next) {
  token = next;
  signedIn.value = true;
  wanted.value = null;
  for (const go of waiting.splice(0)) go();
}

/** Asks other tabs for their token, and waits no longer than a person would notice. */
function adopt() {
  adoption ??= new Promise((done) => {
    channel?.postMessage({ want: true });
    const timer = setTimeout(done, channel ? 120 : 0);
    waiting.push(() => {
      clearTimeout(timer);
      done();
    });
  });
  return adoption;
}

/** @param {HeadersInit | undefined} given */
function headersOf(given) {
  const headers = new Headers(given);
  if (token) headers.set("Authorization", `Bearer ${token}`);
  return headers;
}

/**
 * Fetches from this server. A request that lacks a token waits for the dialog and is repeated.
 * @param {string} path
 * @param {RequestInit & { waits?: boolean }} [init] `waits: false` fails instead of waiting for a sign-in
 * @returns {Promise<Response>}
 */
export async function request(path, init = {}) {
  const { waits = true, ...options } = init;
  for (;;) {
    const sent = token;
    /** @type {Response} */
    let response;
    try {
      response = await fetch(path, { ...options, headers: headersOf(options.headers), cache: options.cache ?? "no-cache" });
    } catch (error) {
      if (options.signal?.aborted) throw error;
      online.value = false;
      throw new Offline();
    }
    online.value = true;
    if (response.status !== 401) return response;
    if (sent !== token) continue;
    if (!sent) {
      await adopt();
      if (token) continue;
    }
    if (!waits) throw await refusal(response);
    await new Promise((go, no) => {
      if (token !== sent) return go(undefined);
      waiting.push(() => go(undefined));
      options.signal?.addEventListener("abort", () => no(options.signal?.reason), { once: true });
      wanted.value ??= { wrong: false, expired: Boolean(sent) };
    });
  }
}

/**
 * What a refusal says, whichever route worded it.
 * @param {Response} response
 */
export async function refusal(response) {
  const text = await response.text().catch(() => "");
  /** @type {any} */
  let body = {};
  try {
    body = JSON.parse(text);
  } catch {
    body = { message: text.slice(0, 300) };
  }
  const error = body.error ?? body;
  return new Refused({
    code: error.data?.code ?? (typeof error.code === "string" ? error.code : statusCode(response.status)),
    message: error.message,
    retryable: error.retryable ?? error.data?.retryable ?? response.status >= 500,
    hint: error.hint,
    status: response.status,
    after: Number(response.headers.get("Retry-After") ?? 0) || 0,
    data: body,
  });
}

/** @param {number} status */
function statusCode(status) {
  return status === 401 ? "UNAUTHORIZED" : status === 404 ? "NOT_FOUND" : status === 412 ? "PRECONDITION_FAILED" : `HTTP_${status}`;
}

/**
 * @param {string} path
 * @param {RequestInit & { waits?: boolean }} [init]
 * @returns {Promise<any>}
 */
export async function json(path, init) {
  const response = await request(path, init);
  if (!response.ok) throw await refusal(response);
  return response.json();
}

/**
 * Takes a token if the server does.
 * @param {string} candidate
 * @returns {Promise<boolean>}
 */
export async function signIn(candidate) {
  /** @type {Response} */
  let response;
  try {
    response = await fetch("/console/me", { headers: { Authorization: `Bearer ${candidate}` }, cache: "no-store" });
  } catch {
    online.value = false;
    throw new Offline();
  }
  online.value = true;
  if (response.status === 401 || response.status === 403) return false;
  if (!response.ok) throw await refusal(response);
  take(candidate);
  channel?.postMessage({ token });
  return true;
}

/**
 * Exchanges the one-time code of a sign-in link. The code leaves the address before anything else happens.
 * @returns {Promise<boolean>} whether there was one that the server took
 */
export async function signInByLink() {
  const parts = location.hash.slice(1).split("&");
  const code = parts.find((part) => part.startsWith("code="))?.slice(5);
  if (!code) return false;
  const rest = parts.filter((part) => part && !part.startsWith("code=")).join("&");
  history.replaceState(history.state, "", location.pathname + location.search + (rest ? `#${rest}` : ""));
  const response = await fetch("/console/sign-in", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code }), cache: "no-store",
  }).catch(() => null);
  if (!response?.ok) {
    linkFailed.value = true;
    return false;
  }
  const answer = await response.json();
  if (typeof answer.token !== "string") return false;
  take(answer.token);
  channel?.postMessage({ token });
  return true;
}

/** Forgets the token, here and only here. */
export function signOut() {
  token = null;
  adoption = Promise.resolve();
  signedIn.value = false;
  wanted.value = { wrong: false, expired: false };
}
