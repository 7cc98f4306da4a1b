import assert from "node:assert/strict";
import { accessible, go, pageAt } from "./page.mjs";

/** What each required argument is given, by name. */
const VALUES = { query: "lease", question: "When was the windmill built?", rel_path: "src/lease.rs", path: "src/lease.rs", symbol: "renew_lease", project: "tools", content: "text\n", from_path: "/a.txt", to_path: "/b.txt", version: "1", prompt: "lease" };

export const scenarios = {
  "every tool is run from its form": async ({ context, server }) => {
    const page = await pageAt(context, server, "/tools");
    const links = page.getByRole("navigation", { name: "List of tools" }).getByRole("link");
    await links.first().waitFor();
    const places = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    assert.ok(places.length >= 25, `${places.length} tools`);
    for (const place of places) {
      await go(page, place);
      const name = decodeURIComponent(place.split("/").at(-1));
      await page.getByRole("heading", { level: 1, name }).waitFor();
      const form = page.getByRole("form", { name: `Arguments of ${name}` });
      for (const label of await form.locator("label.required").all()) {
        const field = form.locator(`[id="${await label.getAttribute("for")}"]`);
        const wanted = await label.innerText();
        if (await field.evaluate((one) => one.tagName !== "SELECT")) await field.fill(place.includes("/files/") && wanted === "path" ? "/a.txt" : VALUES[wanted] ?? "lease");
      }
      await form.getByRole("button", { name: "Run" }).click();
      const sure = page.getByRole("dialog").getByRole("button", { name: "Run" });
      const result = page.getByRole("region", { name: "Result" });
      await Promise.race([sure.waitFor(), result.locator(".tag, .bar").first().waitFor()]);
      while (await sure.count()) await sure.click();
      await result.locator(".tag, .bar").first().waitFor({ timeout: 20_000 });
    }
  },
  "form and JSON are one, and curl says how others call": async ({ context, server }) => {
    const page = await pageAt(context, server, "/tools/dir2mcp/dir2mcp.search");
    await page.getByRole("textbox", { name: "query", exact: true }).fill("renew_lease");
    const json = page.getByLabel("Arguments as JSON");
    assert.deepEqual(JSON.parse(await json.inputValue()), { query: "renew_lease" });
    await json.fill('{"query":"windmill","k":3}');
    assert.equal(await page.getByLabel("k", { exact: true }).inputValue(), "3");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("region", { name: "Result" }).getByText("guide.md").first().waitFor();
    await page.getByText("curl", { exact: true }).click();
    await page.getByText("$DIR2MCP_TOKEN").waitFor();
    await accessible(page, "tools");
  },
};
