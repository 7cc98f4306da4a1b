// What every scenario needs: a browser that notes what it should not see, a page that is signed in, and axe.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const modules = process.env.CONSOLE_NODE_MODULES;
const require = createRequire(path.join(modules, "index.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(path.join(modules, "axe-core/axe.min.js"), "utf8");

export const launch = () => chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

/**
 * A context whose pages note foreign requests, broken policies and exceptions in `troubles`.
 */
export async function open(browser, server, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light", ...options });
  context.setDefaultTimeout(10_000);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const troubles = [];
  const requests = [];
  await context.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  context.on("request", (request) => {
    requests.push(request);
    const url = request.url();
    if (/^(data|blob):/.test(url)) return;
    if (!url.startsWith(`${server.origin}/`)) troubles.push(`a request left the origin: ${url}`);
    if (url.includes(server.token)) troubles.push(`the token is in an address: ${url}`);
  });
  context.on("weberror", (error) => troubles.push(`exception: ${error.error().stack}`));
  context.on("dialog", (dialog) => { if (dialog.type() !== "beforeunload") troubles.push(`a script opened a box: ${dialog.message()}`); dialog.accept(); });
  context.on("console", (message) => { if (/Content Security Policy|TrustedType/i.test(message.text())) troubles.push(message.text()); });
  return { context, troubles, requests };
}

/** Signs in by typing the token. */
export async function signIn(page, server) {
  const dialog = page.getByRole("dialog", { name: "Sign in" });
  await dialog.getByLabel("Token", { exact: true }).fill(server.token);
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await dialog.waitFor({ state: "detached" });
}

/** A page at an address, signed in. */
export async function pageAt(context, server, address = "/") {
  const page = await context.newPage();
  await page.goto(server.origin + address);
  await Promise.race([page.getByRole("dialog", { name: "Sign in" }).waitFor(), page.locator("main > *").first().waitFor()]);
  if (await page.getByRole("dialog", { name: "Sign in" }).count()) await signIn(page, server);
  await page.locator("main > *").first().waitFor();
  return page;
}

/** Goes to an address within the page, as a link does: the token stays. */
export async function go(page, address) {
  await page.evaluate((to) => {
    const link = document.createElement("a");
    link.href = to;
    document.body.append(link);
    link.click();
    link.remove();
  }, address);
}

/** No violation of WCAG 2.2 AA; the source is evaluated, because the page's own policy admits no other script. */
export async function accessible(page, what) {
  await page.evaluate(axe);
  // Colours are judged at rest.
  await page.evaluate(() => Promise.allSettled(document.getAnimations().filter((one) => one.effect?.getComputedTiming().iterations !== Infinity).map((one) => one.finished)));
  const found = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }));
  const told = found.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ""}`).join(" | ")}`);
  assert.deepEqual(told, [], `${what}: ${told.join("\n")}`);
}

/** Nothing hangs over the side of the window. */
export async function fits(page, what) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${what} is ${wide} px too wide`);
}

export async function violations(page) {
  return page.evaluate(() => window.violations);
}
