import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { accessible, pageAt } from "./page.mjs";

export const scenarios = {
  "a new file appears without a reload": async ({ context, server, root }) => {
    const page = await pageAt(context, server, "/status");
    const figure = page.locator(".figure");
    await figure.waitFor();
    const before = await figure.textContent();
    writeFileSync(path.join(root, `added-${Date.now()}.txt`), "A file that was added while the page was open.\n");
    await page.waitForFunction((old) => document.querySelector(".figure")?.textContent !== old, before, { timeout: 30_000 });
  },
  "a file that is missing says why": async ({ context, server }) => {
    const page = await pageAt(context, server, "/status");
    const row = page.getByRole("row").filter({ hasText: "deploy.txt" });
    await row.waitFor();
    assert.match(await row.innerText(), /secret/i);
    await page.getByRole("searchbox", { name: "Filter by path" }).fill("deploy");
    await page.waitForFunction(() => document.querySelectorAll("tbody tr a").length === 1);
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export JSON" }).click();
    assert.equal((await saved).suggestedFilename(), "not-searchable.json");
  },
  "calls are listed as they are made, and each plot has its numbers": async ({ context, server }) => {
    const page = await pageAt(context, server, "/status");
    await page.getByText("files searchable").waitFor();
    const other = await pageAt(context, server, "/?q=lease");
    await other.getByRole("list", { name: "Hits" }).getByRole("link").first().waitFor();
    await page.getByRole("cell", { name: "dir2mcp.search" }).first().waitFor();
    await page.getByText("Show data").first().click();
    await accessible(page, "status");
  },
  "what is copied for a client reaches the server": async ({ context, server }) => {
    const page = await pageAt(context, server, "/status");
    await page.getByLabel("Client", { exact: true }).waitFor();
    const section = page.locator("section", { hasText: "Connect a client" });
    const texts = await section.locator("pre").allInnerTexts();
    await section.getByRole("button", { name: "Copy", exact: true }).first().click();
    assert.equal((await page.evaluate(() => navigator.clipboard.readText())).trim(), texts[0].trim());
    assert.ok(!texts.join().includes(server.token));
    const url = /https?:\/\/[^"'\s]+\/mcp/.exec(texts.join("\n"))?.[0];
    assert.ok(url, texts.join("\n"));
    const answer = await page.request.post(url, { headers: { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json", Accept: "application/json, text/event-stream" }, data: { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } } } });
    assert.equal(answer.status(), 200);
  },
};
