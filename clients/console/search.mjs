import assert from "node:assert/strict";
import { accessible, go, pageAt } from "./page.mjs";

const hits = (page) => page.getByRole("list", { name: "Hits" }).getByRole("link");
const preview = (page) => page.getByRole("region", { name: "Preview" });
const file = (page) => page.getByRole("region", { name: "File" });

/** The hit of a file, opened on a page of its own. */
async function openHit(page, name) {
  await hits(page).filter({ hasText: name }).first().focus();
  await page.keyboard.press("Enter");
  await file(page).waitFor();
}

export const scenarios = {
  "hits appear while typing, and the address is the query": async ({ context, server }) => {
    const page = await pageAt(context, server);
    await page.getByRole("searchbox", { name: "Search" }).pressSequentially("renew_lease");
    await hits(page).filter({ hasText: "src/lease.rs" }).first().waitFor();
    await page.waitForURL(/q=renew_lease/);
    await preview(page).getByText("pub fn renew_lease").first().waitFor();
    assert.ok(await preview(page).locator(".line.marked").count() > 0);
  },
  "facets narrow, chips say so, and both can be taken back": async ({ context, server }) => {
    const page = await pageAt(context, server, "/?q=lease");
    await hits(page).first().waitFor();
    const all = await hits(page).count();
    await page.getByRole("complementary", { name: "Filters" }).getByRole("button", { name: /^Code/ }).click();
    await page.getByRole("button", { name: "Remove filter type: code" }).waitFor();
    await page.waitForURL(/type=code/);
    await page.waitForFunction((before) => document.querySelectorAll(".hit").length < before, all);
    await page.getByRole("button", { name: "Remove filter type: code" }).click();
    await page.waitForFunction((before) => document.querySelectorAll(".hit").length === before, all);
  },
  "nothing found says what to try": async ({ context, server }) => {
    const page = await pageAt(context, server, "/?q=zqxjkvbw&type=code");
    await page.getByText("Nothing was found").waitFor();
    await page.getByRole("button", { name: "Drop the type filter" }).click();
    await page.waitForURL((url) => !url.searchParams.has("type"));
  },
  "a citation of lines opens at its lines": async ({ context, server }) => {
    const page = await pageAt(context, server, "/?q=renew_lease");
    await openHit(page, "src/lease.rs");
    assert.match(page.url(), /\/file\/dir\/src\/lease\.rs#L\d+-L\d+$/);
    await file(page).locator(".line.marked").first().waitFor();
    await page.getByRole("complementary", { name: "Outline" }).getByRole("link", { name: /renew_lease/ }).click();
    await page.waitForURL(/#L\d/);
  },
  "a citation of a page opens that page of the PDF": async ({ context, server }) => {
    const page = await pageAt(context, server, "/?q=granite+quarry");
    await openHit(page, "guide.pdf");
    await file(page).getByText("granite quarry").first().waitFor();
    assert.match(page.url(), /#page=2$/);
    await file(page).getByRole("button", { name: "Previous page" }).click();
    await file(page).getByText("harbour master").first().waitFor();
    await page.goBack();
    await file(page).getByText("granite quarry").first().waitFor();
  },
  "a citation of a slide opens that slide": async ({ context, server }) => {
    const page = await pageAt(context, server, "/?q=budget+heron");
    await openHit(page, "talk.pptx");
    await file(page).getByText("heron").first().waitFor();
  },
  "a citation of a sheet opens that sheet, as a table": async ({ context, server }) => {
    const page = await pageAt(context, server, "/?q=turbine+Aberdeen");
    await openHit(page, "sales.xlsx");
    await file(page).getByText("Aberdeen").first().waitFor();
  },
  "a citation of a time opens the line of the transcript": async ({ context, server }) => {
    const page = await pageAt(context, server, "/?q=sextant");
    await openHit(page, "talk.vtt");
    assert.match(page.url(), /#t=/);
    await file(page).locator("li.marked", { hasText: "sextant" }).waitFor();
  },
  "the way back leads to the same hit and place": async ({ context, server }) => {
    const page = await pageAt(context, server, "/?q=lease");
    await hits(page).nth(6).waitFor();
    await hits(page).nth(6).click();
    await page.locator(".hits").evaluate((box) => { box.scrollTop = 120; });
    const before = await page.locator(".hits").evaluate((box) => box.scrollTop);
    await preview(page).getByRole("link", { name: "Open" }).click();
    await file(page).waitFor();
    await page.goBack();
    await page.waitForFunction(() => document.querySelector('.hit a[aria-current="true"]'));
    assert.equal(await hits(page).nth(6).getAttribute("aria-current"), "true");
    await page.waitForFunction((wanted) => Math.abs(document.querySelector(".hits").scrollTop - wanted) < 40, before);
  },
  "the folder and a project are searched at once": async ({ context, server }) => {
    const page = await pageAt(context, server);
    await put(page, server, "notes", "/plan.md", "The lighthouse keeper feeds the albatross.\n");
    await go(page, "/?q=albatross");
    await hits(page).filter({ hasText: "plan.md" }).first().waitFor();
    await hits(page).filter({ hasText: "plan.md" }).first().click();
    await preview(page).getByText("albatross").first().waitFor();
    await page.getByRole("button", { name: /^notes/ }).click();
    await page.getByRole("button", { name: "Remove filter in: notes" }).waitFor();
  },
  "keys alone find, preview, open and come back": async ({ context, server }) => {
    const page = await pageAt(context, server, "/status");
    await page.getByText("files searchable").waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("s");
    const field = page.getByRole("searchbox", { name: "Search" });
    await field.waitFor();
    // It has the focus at once; from elsewhere in the view a key leads to it.
    await page.waitForFunction(() => document.activeElement?.matches("input[type=search]"));
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.keyboard.type("lease");
    await page.waitForURL(/q=lease$/);
    await page.locator('.hits[aria-busy="false"]').waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("j");
    assert.equal(await hits(page).nth(1).getAttribute("aria-current"), "true");
    await page.keyboard.press("Enter");
    await file(page).waitFor();
    await page.keyboard.press("Escape");
    await hits(page).nth(1).waitFor();
    assert.equal(await hits(page).nth(1).getAttribute("aria-current"), "true");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Help and keys" }).waitFor();
    await accessible(page, "help");
    await page.keyboard.press("Escape");
  },
  "a copied citation is the one that answers use": async ({ context, server }) => {
    const page = await pageAt(context, server, "/?q=renew_lease");
    await preview(page).getByRole("button", { name: "Copy citation" }).click();
    await preview(page).getByText("Copied").waitFor();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^\[src\/lease\.rs:L\d+-L\d+\]$/);
  },
};

/** Writes a file of a project, as another client would. */
export async function put(page, server, project, path, content, headers = {}) {
  const answer = await page.request.put(`${server.origin}/api/files/content?project=${project}&path=${encodeURIComponent(path)}`, { headers: { Authorization: `Bearer ${server.token}`, ...headers }, data: content });
  assert.ok(answer.ok(), `${answer.status()} ${await answer.text()}`);
}
