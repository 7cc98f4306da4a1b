import assert from "node:assert/strict";
import { pageAt, signIn, violations } from "./page.mjs";

export const scenarios = {
  "the link signs in once, and its code leaves the address": async ({ context, server }) => {
    const page = await context.newPage();
    await page.goto(server.link);
    await page.getByRole("searchbox", { name: "Search" }).waitFor();
    assert.ok(!page.url().includes("code="), page.url());
    const other = await page.request.post(`${server.origin}/console/sign-in`, { data: { code: server.link.split("code=")[1] } });
    assert.equal(other.status(), 401);
    assert.deepEqual(await violations(page), []);
  },
  "a link that was used asks for the token and says why": async ({ context, server }) => {
    const page = await context.newPage();
    await page.goto(server.link);
    await page.getByText("used or is too old").waitFor();
    await signIn(page, server);
  },
  "a wrong token is refused, the right one is taken, the wanted view stays": async ({ context, server }) => {
    const page = await context.newPage();
    await page.goto(`${server.origin}/?q=lease`);
    const dialog = page.getByRole("dialog", { name: "Sign in" });
    await dialog.getByLabel("Token", { exact: true }).fill("not the token");
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await dialog.getByText("Wrong token").waitFor();
    await signIn(page, server);
    await page.getByRole("list", { name: "Hits" }).getByRole("link").first().waitFor();
    assert.equal(await page.getByRole("searchbox", { name: "Search" }).inputValue(), "lease");
  },
  "other tabs are signed in too, and the token is nowhere to be found": async ({ context, server }) => {
    const first = await pageAt(context, server);
    const second = await context.newPage();
    await second.goto(`${server.origin}/status`);
    await second.getByText("files searchable").waitFor();
    for (const page of [first, second]) {
      const found = await page.evaluate(async (token) => {
        const places = { url: location.href, dom: document.documentElement.outerHTML, fields: [...document.querySelectorAll("input, textarea")].map((one) => one.value).join(), local: JSON.stringify(localStorage), session: JSON.stringify(sessionStorage), cookie: document.cookie, history: JSON.stringify(history.state), name: window.name };
        const caches = "caches" in window ? (await window.caches.keys()).join() : "";
        const bases = (await indexedDB.databases()).map(({ name }) => name).join();
        return Object.entries({ ...places, caches, bases }).filter(([, text]) => String(text).includes(token)).map(([name]) => name);
      }, server.token);
      assert.deepEqual(found, []);
    }
    assert.equal((await context.cookies()).length, 0);
  },
  "signing out forgets it": async ({ context, server }) => {
    const page = await pageAt(context, server);
    await page.getByRole("button", { name: "Help and keys" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("dialog", { name: "Sign in" }).waitFor();
  },
};
