import assert from "node:assert/strict";
import { accessible, pageAt } from "./page.mjs";

export const scenarios = {
  "an answer comes with passages, and each opens at its place": async ({ context, server }) => {
    const page = await pageAt(context, server, "/ask");
    await page.getByRole("searchbox", { name: "Question" }).fill("When was the windmill built?");
    await page.keyboard.press("Enter");
    await page.waitForURL(/q=When/);
    await page.getByText("1893").first().waitFor();
    await page.getByText("Extractive").first().waitFor();
    const cite = page.locator(".answer .cite").first();
    await cite.click();
    await page.getByRole("region", { name: "Preview" }).getByText("1893").first().waitFor();
    assert.equal(await cite.getAttribute("aria-current"), "true");
    await page.getByRole("status").filter({ hasText: "Answer ready" }).waitFor({ state: "attached" });
    await accessible(page, "ask");
    const passages = page.getByRole("navigation", { name: "Passages used" }).getByRole("link");
    assert.ok(await passages.count() > 0);
  },
};
