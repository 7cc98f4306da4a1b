// The page is an MCP client of the newest revision: one POST, no session.

import { Refused, refusal, request } from "./session.js";

const VERSION = "2026-07-28";

/** @typedef {{ name: string, title?: string, description?: string, inputSchema: any, outputSchema?: any, annotations?: any, _meta?: any }} Tool */
/** @typedef {{ structured: any, content: any[], isError: boolean, milliseconds: number }} Outcome */

let number = 0;

/** Where the tools of each contract are called; known once the server has said who asks. */
let contracts = /** @type {Array<{ name: string, path: string, chosen: boolean }>} */ ([]);

/** @param {typeof contracts} known */
export function useContracts(known) {
  contracts = known;
}

/** @param {string} tool */
export function contractOf(tool) {
  const dot = tool.indexOf(".");
  return dot > 0 ? tool.slice(0, dot) : tool.startsWith("file_") || tool === "mcp_pipe" ? "files" : "smart";
}

/** @param {string} contract */
export function hasContract(contract) {
  return contracts.some(({ name }) => name === contract);
}

/** @param {string} contract */
export function pathOf(contract) {
  return contracts.find(({ name }) => name === contract)?.path ?? "/mcp";
}

/**
 * @param {string} method
 * @param {Record<string, unknown>} params
 * @param {AbortSignal | undefined} stop
 * @param {string} path
 */
async function send(method, params, stop, path) {
  const { body, headers } = message(method, params);
  const response = await request(path, { method: "POST", headers, body: JSON.stringify(body), signal: stop ?? null });
  const type = response.headers.get("Content-Type") ?? "";
  if (!response.ok) throw await refusal(response);
  const text = await response.text();
  const answer = type.startsWith("text/event-stream") ? lastEvent(text) : JSON.parse(text);
  if (answer.error) throw new Refused({ code: answer.error.data?.code ?? "INVALID_ARGUMENT", message: answer.error.message, data: answer });
  return answer.result;
}

/**
 * @param {string} method
 * @param {Record<string, unknown>} params
 */
export function message(method, params) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": { name: "dir2mcp console", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const body = { jsonrpc: "2.0", id: ++number, method, params: { ...params, _meta } };
  /** @type {Record<string, string>} */
  const headers = {
    "Content-Type": "application/json", Accept: "application/json, text/event-stream",
    "MCP-Protocol-Version": VERSION, "Mcp-Method": method,
  };
  if (typeof params.name === "string") headers["Mcp-Name"] = params.name;
  return { body, headers };
}

/** @param {string} text of an event stream */
function lastEvent(text) {
  const data = text.split(/\n\n/).map((event) => event.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim()).join("\n"));
  return JSON.parse(data.filter(Boolean).pop() ?? "{}");
}

/**
 * Calls a tool; a failed call is thrown.
 * @param {string} name
 * @param {Record<string, unknown>} args
 * @param {AbortSignal} [stop]
 * @returns {Promise<any>} the structured result
 */
export async function call(name, args, stop) {
  const outcome = await tryCall(name, args, stop);
  if (outcome.isError) throw failure(outcome);
  return outcome.structured;
}

/**
 * Calls a tool and gives whatever it answered.
 * @param {string} name
 * @param {Record<string, unknown>} args
 * @param {AbortSignal} [stop]
 * @returns {Promise<Outcome>}
 */
export async function tryCall(name, args, stop) {
  const started = performance.now();
  const result = await send("tools/call", { name, arguments: args }, stop, pathOf(contractOf(name)));
  return { structured: result.structuredContent, content: result.content ?? [], isError: result.isError === true, milliseconds: performance.now() - started };
}

/** @param {Outcome} outcome */
function failure(outcome) {
  const error = outcome.structured?.error ?? outcome.structured ?? {};
  return new Refused({ ...error, message: error.message ?? outcome.content.find((part) => part.type === "text")?.text });
}

/**
 * @param {string} contract
 * @param {AbortSignal} [stop]
 * @returns {Promise<Tool[]>}
 */
export async function listTools(contract, stop) {
  /** @type {Tool[]} */
  const tools = [];
  let cursor;
  do {
    const page = await send("tools/list", cursor ? { cursor } : {}, stop, pathOf(contract));
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor);
  return tools;
}
