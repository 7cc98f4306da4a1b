import assert from "node:assert/strict";
import path from "node:path";
import { accessible, go, pageAt } from "./page.mjs";
import { put } from "./search.mjs";

const side = (page) => page.getByRole("region", { name: "File" });
const button = (page, name) => side(page).getByRole("button", { name, exact: true });

export const scenarios = {
  "the folder is browsed by keys and cannot be changed here": async ({ context, server }) => {
    const page = await pageAt(context, server, "/files");
    const tree = page.getByRole("tree");
    await tree.getByRole("treeitem", { name: /^src/ }).focus();
    await page.keyboard.press("ArrowRight");
    await tree.getByRole("treeitem", { name: "lease.rs" }).waitFor();
    await page.keyboard.press("l");
    await page.keyboard.press("Enter");
    await side(page).getByText("pub fn renew_lease").first().waitFor();
    assert.equal(await side(page).getByRole("button", { name: "Edit" }).count(), 0);
    await page.getByText("read only").waitFor();
    await accessible(page, "files of the folder");
  },
  "a file is made, written, renamed, deleted and restored": async ({ context, server }) => {
    const page = await pageAt(context, server, "/files/work");
    await page.getByRole("button", { name: "New file" }).click();
    await page.getByLabel("Project", { exact: true }).last().fill("work");
    await page.getByLabel("Path", { exact: true }).fill("docs/plan.md");
    await page.getByRole("button", { name: "Create" }).click();
    const area = page.getByRole("textbox", { name: "Text of docs/plan.md" });
    await area.fill("# Plan\n\nfirst\n");
    await page.keyboard.press("Control+s");
    await button(page, "Edit").waitFor();
    await button(page, "Edit").click();
    await area.fill("# Plan\n\nsecond\n");
    await page.getByRole("button", { name: "Save" }).click();
    await side(page).getByText("second").first().waitFor();
    await side(page).getByRole("tab", { name: "Versions" }).click();
    await side(page).getByRole("button", { name: /^Compare v/ }).first().click();
    await side(page).locator("del", { hasText: "first" }).waitFor();
    await accessible(page, "versions");
    await side(page).getByRole("button", { name: /^Restore v/ }).first().click();
    await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
    await side(page).getByText("first").first().waitFor();

    await button(page, "Rename").click();
    await page.getByLabel("New path").fill("docs/better.md");
    await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
    await page.waitForURL(/better\.md/);
    await page.getByRole("treeitem", { name: "better.md" }).waitFor();
    await button(page, "Delete").click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("Choose a file").waitFor();
    await go(page, "/files/work/docs/better.md");
    await side(page).getByRole("button", { name: /^Restore v/ }).first().click();
    await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
    await side(page).getByText("first").first().waitFor();
  },
  "the answers of the tools are one click away": async ({ context, server }) => {
    const page = await pageAt(context, server, "/files/work");
    await put(page, server, "work", "/a.txt", "alpha\n");
    await go(page, "/files/work/a.txt");
    await side(page).getByText("alpha").first().waitFor();
    await side(page).getByText("Answers of the file tools").click();
    for (const [name, tool] of [["Search", "file_search"], ["List", "file_list"], ["Read", "file_read"], ["Stat", "file_stat"]]) {
      await button(page, name).click();
      await side(page).locator("summary").filter({ hasText: tool }).first().waitFor();
    }
    await side(page).getByText("content_hash").first().waitFor();
  },
  "a change in a second tab is seen, compared and merged": async ({ context, server }) => {
    const page = await pageAt(context, server, "/files/work");
    await put(page, server, "work", "/both.txt", "one\ntwo\nthree\n");
    await go(page, "/files/work/both.txt");
    await button(page, "Edit").click();
    const area = page.getByRole("textbox", { name: "Text of both.txt" });
    await area.fill("one mine\ntwo\nthree\n");
    const other = await pageAt(context, server, "/files/work/both.txt");
    await button(other, "Edit").click();
    await other.getByRole("textbox", { name: "Text of both.txt" }).fill("one theirs\ntwo\nthree\n");
    await other.keyboard.press("Control+s");
    await button(other, "Edit").waitFor();
    await page.getByText("Changed while you were editing").waitFor();
    await accessible(page, "conflict");
    await page.getByRole("button", { name: "Compare" }).click();
    await side(page).getByText("Conflict 1 of 1").waitFor();
    await accessible(page, "compare");
    await side(page).getByRole("button", { name: "Both" }).first().click();
    await side(page).getByRole("button", { name: "Save merged" }).click();
    await side(page).getByText("one theirs").first().waitFor();
    await side(page).getByText("one mine").first().waitFor();
    // The other tab hears of it.
    await other.bringToFront();
    await side(other).getByText("one mine").first().waitFor();
  },
  "what was typed is kept while looking elsewhere": async ({ context, server }) => {
    const page = await pageAt(context, server, "/files/work");
    await put(page, server, "work", "/draft.txt", "old\n");
    await go(page, "/files/work/draft.txt");
    await button(page, "Edit").click();
    await page.getByRole("textbox", { name: "Text of draft.txt" }).fill("half a thought");
    await go(page, "/status");
    await page.getByText("files searchable").waitFor();
    await go(page, "/files/work/draft.txt");
    assert.equal(await page.getByRole("textbox", { name: "Text of draft.txt" }).inputValue(), "half a thought");
    await button(page, "Cancel").click();
    await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
    await button(page, "Edit").waitFor();
  },
  "a hundred files are uploaded, and one that is too large says so": async ({ context, server, root }) => {
    const page = await pageAt(context, server, "/files/many");
    const small = Array.from({ length: 100 }, (_, at) => ({ name: `note-${at}.txt`, mimeType: "text/plain", buffer: Buffer.from(`note ${at}\n`) }));
    await page.getByRole("button", { name: "Upload" }).waitFor();
    await page.getByLabel("Files to upload").setInputFiles(small);
    await page.getByText("100 of 100 uploaded.").waitFor({ timeout: 30_000 });
    await page.getByRole("treeitem", { name: "note-42.txt" }).waitFor();
    await page.getByLabel("Files to upload").setInputFiles(path.join(root, "large.log"));
    await page.getByText("REQUEST_TOO_LARGE").waitFor();
  },
};
