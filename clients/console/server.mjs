// The built binary as a person starts it: `up`, read until it says where it is.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";

/**
 * @param {{ binary: string, root: string, state: string, listen?: string, flags?: string[] }} options
 */
export async function startServer({ binary, root, state, listen = "127.0.0.1:0", flags = [] }) {
  const beside = path.dirname(state);
  const env = { HOME: beside, PATH: "/nonexistent", XDG_CONFIG_HOME: path.join(beside, "config"), XDG_DATA_HOME: path.join(beside, "data") };
  const child = spawn(binary, ["up", "--dir", root, "--state-dir", state, "--listen", listen, ...flags], { env, stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  const waiting = new Set();
  const heard = (chunk) => {
    printed += chunk;
    for (const look of waiting) look();
  };
  child.stdout.on("data", heard);
  child.stderr.on("data", heard);
  const ended = new Promise((done) => child.once("exit", done));
  /** The first group of a pattern, once it was printed. */
  const says = (pattern, milliseconds = 45_000) => new Promise((found, failed) => {
    const timer = setTimeout(() => { waiting.delete(look); failed(new Error(`the server did not print ${pattern}:\n${printed}`)); }, milliseconds);
    const look = () => {
      const match = pattern.exec(printed);
      if (!match) return;
      clearTimeout(timer);
      waiting.delete(look);
      found(match[1] ?? match[0]);
    };
    waiting.add(look);
    child.once("exit", () => { clearTimeout(timer); failed(new Error(`the server ended:\n${printed}`)); });
    look();
  });
  const link = await says(/Sign in:\s+(\S+#code=\S+)/);
  const origin = new URL(link).origin;
  return {
    origin,
    link,
    address: origin.replace(/^https?:\/\//, ""),
    token: readFileSync(path.join(state, "secret.token"), "utf8").trim(),
    says,
    printed: () => printed,
    indexed: () => says(/Searchable: ([\d,]+) files/),
    kill: () => { child.kill("SIGKILL"); return ended; },
    stop: () => { child.kill("SIGTERM"); return ended; },
  };
}
