// What the page costs, measured in the browser. The goals are those of the design; the server is a debug build unless another was named.

import assert from "node:assert/strict";
import { go, pageAt } from "./page.mjs";

const MOST_BYTES = 120_000;
const MOST_REQUESTS = 20;

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const quantile = (numbers, share) => [...numbers].sort((a, b) => a - b)[Math.min(numbers.length - 1, Math.ceil(numbers.length * share) - 1)];

export const scenarios = {
  "weight and requests of each view, first paint, nothing shifts": async ({ browser, server, figure }) => {
    let [weight, most] = [0, 0];
    const paints = [];
    for (const address of ["/?q=lease", "/ask", "/files", "/status", "/tools", "/file/dir/src/lease.rs"]) {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.addInitScript(() => {
        window.shifts = 0;
        new PerformanceObserver((list) => { for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts += entry.value; }).observe({ type: "layout-shift", buffered: true });
      });
      // As the link that the server prints: the fragment holds a code that works once.
      const { code } = await (await page.request.post(`${server.origin}/console/code`, { headers: { Authorization: `Bearer ${server.token}` } })).json();
      await page.goto(`${server.origin}${address}#code=${code}`);
      await page.locator("main > *").first().waitFor();
      const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0);
      paints.push(paint);
      await page.getByRole("status").first().waitFor({ state: "attached" });
      await page.waitForFunction(() => document.title !== "dir2mcp");
      await page.waitForFunction(() => new Promise((done) => { const before = performance.getEntriesByType("resource").length; setTimeout(() => done(performance.getEntriesByType("resource").length === before), 500); }));
      const loaded = await page.evaluate(() => performance.getEntriesByType("resource").filter((one) => new URL(one.name).pathname.match(/^\/console\/.*\.(js|css|svg)$/)).map((one) => one.decodedBodySize));
      const html = (await (await page.request.get(server.origin, { headers: { Accept: "text/html" } })).body()).length;
      const bytes = loaded.reduce((sum, one) => sum + one, html);
      [weight, most] = [Math.max(weight, bytes), Math.max(most, loaded.length + 1)];
      assert.ok(bytes <= MOST_BYTES, `${address} weighs ${bytes} bytes`);
      assert.ok(loaded.length + 1 <= MOST_REQUESTS, `${address} makes ${loaded.length + 1} requests`);
      const shifts = await page.evaluate(() => window.shifts);
      assert.ok(shifts < 0.1, `${address} shifts by ${shifts}`);
      await context.close();
    }
    figure("page-weight-kB", (weight / 1000).toFixed(0));
    figure("page-requests", most);
    figure("first-paint-ms", median(paints).toFixed(0));
  },
  "from a key to its hits": async ({ context, server, figure }) => {
    const page = await pageAt(context, server);
    const field = page.getByRole("searchbox", { name: "Search" });
    await field.fill("warm up");
    await page.waitForURL(/q=warm/);
    await page.evaluate(() => {
      window.waits = [];
      let pressed = 0;
      document.querySelector("input[type=search]").addEventListener("input", () => { pressed = performance.now(); });
      new MutationObserver(() => { if (pressed && document.querySelector(".hit")) { window.waits.push(performance.now() - pressed); pressed = 0; } }).observe(document.querySelector(".hits"), { childList: true });
    });
    const words = ["lease", "renew", "windmill", "guide", "granite", "harbour", "sails", "lighthouse", "expired", "length"];
    for (const word of [...words, ...words]) {
      const before = await page.evaluate(() => window.waits.length);
      await field.fill(word);
      await page.waitForFunction((count) => window.waits.length > count, before);
    }
    const waits = await page.evaluate(() => window.waits);
    figure("key-to-hits-p95-ms", quantile(waits, 0.95).toFixed(0));
    figure("key-to-hits-median-ms", median(waits).toFixed(0));
  },
  "a file of 5,000 lines": async ({ context, server, figure }) => {
    const page = await pageAt(context, server, "/status");
    const times = [];
    for (let round = 0; round < 3; round++) {
      await go(page, "/status");
      await page.locator(".figure").waitFor();
      const started = await page.evaluate(() => performance.now());
      await go(page, `/file/dir/src/long.rs?round=${round}#L4000-L4002`);
      times.push(await page.evaluate(async (from) => {
        while (!document.querySelector(".line.marked")) await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        return performance.now() - from;
      }, started));
    }
    assert.ok(await page.locator(".line").count() >= 5000);
    figure("long-file-ms", median(times).toFixed(0));
  },
  "an idle page asks for nothing": async ({ context, server, requests, figure }) => {
    const page = await pageAt(context, server, "/status");
    await page.getByRole("row").filter({ hasText: "deploy.txt" }).waitFor();
    await page.waitForFunction(() => new Promise((done) => { const before = performance.getEntriesByType("resource").length; setTimeout(() => done(performance.getEntriesByType("resource").length === before), 1000); }));
    const session = await context.newCDPSession(page);
    await session.send("Performance.enable");
    const busy = async () => (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
    const [before, spent] = [requests.length, await busy()];
    // The one wait on purpose: idleness has no event.
    await page.evaluate(() => new Promise((done) => { setTimeout(done, 3000); }));
    figure("idle-requests", requests.length - before);
    figure("idle-cpu-percent", (((await busy()) - spent) / 3 * 100).toFixed(2));
    assert.equal(requests.length, before);
  },
};
