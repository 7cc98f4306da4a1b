import assert from "node:assert/strict";
import path from "node:path";
import { open, pageAt, go, signIn, violations } from "./page.mjs";

export const scenarios = {
  "a killed server is told, a new one is found, and the view is kept": async ({ browser, binary, root, state, startServer }) => {
    const beside = path.join(state, "..", "second");
    let server = await startServer({ binary, root, state: beside });
    await server.indexed();
    const { context, troubles } = await open(browser, server);
    const page = await pageAt(context, server, "/files/drafts");
    await page.getByRole("button", { name: "New file" }).click();
    await page.getByLabel("Project", { exact: true }).last().fill("drafts");
    await page.getByLabel("Path", { exact: true }).fill("a.txt");
    await page.getByRole("button", { name: "Create" }).click();
    const area = page.getByRole("textbox", { name: "Text of a.txt" });
    await area.fill("typed before the crash");
    await server.kill();
    await page.getByText("The server does not answer").first().waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("UNREACHABLE").first().waitFor();
    server = await startServer({ binary, root, state: beside, listen: server.address });
    await page.getByText("The server does not answer. What").waitFor({ state: "detached", timeout: 20_000 });
    assert.equal(await area.inputValue(), "typed before the crash");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("button", { name: "Edit" }).waitFor();
    assert.deepEqual(troubles, []);
    await context.close();
    await server.stop();
  },
  "a token that is no longer taken asks over the kept view, and the request is repeated": async ({ context, server }) => {
    const page = await pageAt(context, server, "/?q=lease");
    await page.getByRole("list", { name: "Hits" }).getByRole("link").first().waitFor();
    let refused = true;
    await page.route("**/mcp", async (route) => {
      if (refused) await route.fulfill({ status: 401, contentType: "application/json", body: JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32001, message: "unauthorized" } }) });
      else await route.continue();
    });
    await page.getByRole("searchbox", { name: "Search" }).fill("windmill");
    await page.getByRole("dialog", { name: "Sign in" }).waitFor();
    refused = false;
    await signIn(page, server);
    await page.getByRole("list", { name: "Hits" }).getByRole("link").filter({ hasText: "guide.md" }).first().waitFor();
  },
  "a limit of rate counts down, other failures do not offer to try again": async ({ context, server }) => {
    const page = await pageAt(context, server);
    await page.route("**/mcp", (route) => route.fulfill({ status: 429, contentType: "application/json", headers: { "Retry-After": "2" }, body: JSON.stringify({ error: { code: "RATE_LIMIT_EXCEEDED", message: "Too many requests.", retryable: true } }) }));
    await page.getByRole("searchbox", { name: "Search" }).fill("lease");
    await page.getByRole("button", { name: /Retry in \d s/ }).waitFor();
    await page.unroute("**/mcp");
    await page.getByRole("button", { name: "Retry", exact: true }).click();
    await page.getByRole("list", { name: "Hits" }).getByRole("link").first().waitFor();
    await go(page, "/file/dir/nowhere.txt");
    await page.getByRole("alert").waitFor();
    assert.equal(await page.getByRole("button", { name: "Retry" }).count(), 0);
  },
  "names and texts that look like markup are shown, not run": async ({ context, server }) => {
    const page = await pageAt(context, server, "/files");
    await page.getByRole("treeitem", { name: "<img src=x onerror=alert(1)>.txt" }).click();
    await page.getByRole("region", { name: "File" }).getByText("<script>alert(1)</script>").first().waitFor();
    await go(page, "/file/dir/hostile.md");
    await page.getByRole("region", { name: "File" }).getByText("<b onclick=alert(2)>").first().waitFor();
    assert.equal(await page.locator("main img, main script, main iframe, main a[href^='javascript:']").count(), 0);
    await go(page, `/?q=${encodeURIComponent("<img src=x onerror=alert(3)>")}`);
    await page.locator(".found").waitFor();
    assert.deepEqual(await violations(page), []);
  },
  "bidi and control characters are spelled out": async ({ context, server }) => {
    const page = await pageAt(context, server, "/file/dir/bidi.txt");
    const text = await page.getByRole("region", { name: "File" }).locator(".line").filter({ hasText: "access" }).first().innerText();
    assert.ok(!/[\u202a-\u202e\u2066-\u2069\u0007]/.test(text), JSON.stringify(text));
  },
  "a file of ten megabytes is cut, and says so": async ({ context, server }) => {
    const page = await pageAt(context, server, "/file/dir/large.log");
    const region = page.getByRole("region", { name: "File" });
    await region.locator(".strip, .bar, p").first().waitFor({ timeout: 20_000 });
    await region.getByText(/Shown are lines|too large|limit|larger/i).first().waitFor();
  },
  "a folder of thousands is listed in parts": async ({ context, server }) => {
    const page = await pageAt(context, server, "/files");
    await page.getByRole("treeitem", { name: /^many/ }).click();
    await page.getByRole("treeitem", { name: /Show .* more/ }).waitFor();
    assert.ok(await page.getByRole("treeitem").count() < 700);
    await page.getByRole("searchbox", { name: "Filter files" }).fill("note-1999");
    await page.getByRole("link", { name: "many/note-1999.txt" }).waitFor();
  },
  "the page's own policy refuses what it should": async ({ context, server, troubles }) => {
    const page = await pageAt(context, server);
    const refused = await page.evaluate(() => {
      try {
        document.createElement("div").innerHTML = "<b>x</b>";
        return false;
      } catch (error) {
        return error instanceof TypeError;
      }
    });
    assert.ok(refused);
    assert.ok((await violations(page)).some((one) => one.startsWith("require-trusted-types-for")));
    troubles.length = 0;
  },
};
