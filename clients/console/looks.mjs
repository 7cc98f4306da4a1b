// Every view in both themes and at both widths: accessible, nothing too wide, nothing that moves after it was shown.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { accessible, fits, go, pageAt } from "./page.mjs";

const VIEWS = {
  search: ["/?q=renew+lease", (page) => page.getByRole("list", { name: "Hits" }).getByRole("link").first()],
  empty: ["/", (page) => page.getByRole("heading", { level: 1 })],
  nothing: ["/?q=zqxjkvbw", (page) => page.getByText("Nothing was found")],
  ask: ["/ask?q=When+was+the+windmill+built", (page) => page.getByText("Extractive").first()],
  file: ["/file/dir/src/lease.rs#L4-L9", (page) => page.locator(".line.marked").first()],
  page: ["/file/dir/docs/guide.md", (page) => page.getByRole("heading", { name: "Guide", exact: true })],
  document: ["/file/dir/docs/guide.pdf#page=2", (page) => page.getByText("granite quarry").first()],
  folder: ["/files", (page) => page.getByRole("treeitem").first()],
  project: ["/files/notes/plan.md", (page) => page.getByText("lighthouse").first()],
  status: ["/status", (page) => page.getByRole("row").filter({ hasText: "deploy.txt" })],
  tools: ["/tools/dir2mcp/dir2mcp.search", (page) => page.getByRole("button", { name: "Run" })],
};

const PICTURES = ["search", "ask", "file", "project", "status", "tools"];

function looks(theme, width) {
  const scenario = async ({ context, server, pictures, here }) => {
    const page = await pageAt(context, server);
    await page.request.put(`${server.origin}/api/files/content?project=notes&path=/plan.md`, { headers: { Authorization: `Bearer ${server.token}` }, data: "# Plan\n\nThe lighthouse keeper feeds the albatross.\n\n- [x] lamp oil\n- [ ] new sails\n" });
    for (const [name, [address, ready]] of Object.entries(VIEWS)) {
      await go(page, address);
      await ready(page).waitFor();
      await accessible(page, `${name}, ${theme}, ${width} px`);
      await fits(page, `${name}, ${theme}, ${width} px`);
      if (pictures && PICTURES.includes(name) && (width === 1280 || name === "search")) {
        await page.mouse.move(0, 0);
        await page.screenshot({ path: path.join(pictures, `${name}-${theme}-${width}.png`) });
      }
      if (theme === "light" && width === 1280 && ["empty", "tools"].includes(name)) {
        golden(path.join(here, "golden", `${name}.txt`), await page.locator("body").ariaSnapshot());
      }
    }
  };
  scenario.options = { viewport: { width, height: 800 }, colorScheme: theme, reducedMotion: "reduce" };
  return scenario;
}

/** What a screen reader is told. `UPDATE_GOLDEN=1` writes it anew. */
function golden(file, told) {
  const steady = told.replace(/[\d,]+ (files? (?:is|are) searchable|% searchable)/g, "N $1").replace(/Search root\S*/g, "Search ROOT");
  if (process.env.UPDATE_GOLDEN) {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, `${steady}\n`);
  }
  assert.equal(`${steady}\n`, readFileSync(file, "utf8"), `${file} differs; UPDATE_GOLDEN=1 writes it anew`);
}

const signIn = async ({ context, server }) => {
  const page = await context.newPage();
  await page.goto(server.origin);
  await page.getByRole("dialog", { name: "Sign in" }).waitFor();
  await accessible(page, "sign-in");
  await fits(page, "sign-in");
};
signIn.options = { viewport: { width: 400, height: 800 }, colorScheme: "dark", reducedMotion: "reduce" };

export const scenarios = {
  "the sign-in dialog": signIn,
  "light, 1,280 px": looks("light", 1280),
  "dark, 1,280 px": looks("dark", 1280),
  "light, 400 px": looks("light", 400),
  "dark, 400 px": looks("dark", 400),
};
