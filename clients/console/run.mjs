// Drives the web console of the built binary in Chromium. Prints a line per scenario, `figure NAME VALUE` for what was measured, and fails
// with the first scenario that does.

import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { launch, open } from "./page.mjs";
import { startServer } from "./server.mjs";

const { values: options } = parseArgs({ options: {
  binary: { type: "string" }, root: { type: "string" }, state: { type: "string" }, only: { type: "string" }, pictures: { type: "string" },
} });
const SUITES = ["sign-in", "search", "ask", "files", "status", "tools", "states", "looks", "budgets"];

const browser = await launch();
const world = {
  ...options,
  here: path.dirname(new URL(import.meta.url).pathname),
  browser,
  server: await startServer(options),
  startServer,
  figure: (name, value) => console.log(`figure ${name} ${value}`),
  fixture: (name) => readFileSync(path.join(options.root, name), "utf8"),
};
if (options.pictures) mkdirSync(options.pictures, { recursive: true });
let failed = 0;
try {
  await world.server.indexed();
  for (const name of SUITES.filter((one) => !options.only || options.only.split(",").includes(one))) {
    const { scenarios } = await import(`./${name}.mjs`);
    for (const [what, scenario] of Object.entries(scenarios)) {
      const started = performance.now();
      const opened = await open(browser, world.server, scenario.options ?? {});
      try {
        await scenario({ ...world, ...opened });
        if (opened.troubles.length) throw new Error(opened.troubles.join("\n"));
        console.log(`ok   ${name}: ${what} (${Math.round(performance.now() - started)} ms)`);
      } catch (error) {
        failed += 1;
        const page = opened.context.pages().at(-1);
        const picture = path.join(options.state, "..", `failed-${name}-${failed}.png`);
        await page?.screenshot({ path: picture }).catch(() => {});
        console.log(`fail ${name}: ${what}\n${error.stack ?? error}\n${opened.troubles.join("\n")}\n${picture}`);
      }
      await opened.context.close();
    }
  }
  const leaked = world.server.printed().includes(world.server.token);
  if (leaked) { failed += 1; console.log("fail the token is in what the server printed"); }
} finally {
  await browser.close();
  await world.server.stop();
}
console.log(failed ? `${failed} scenarios failed` : "all scenarios passed");
process.exit(failed ? 1 : 0);
