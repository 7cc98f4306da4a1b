import assert from "node:assert/strict";
import { test } from "node:test";
import { href, parse } from "../lib/router.js";
import { resolve } from "../parts/page-view.js";

test("an address is read as it was written, whatever a file is called", () => {
  for (const path of ["src/lease.rs", "文書/メモ.txt", "a b/c?d#e%f", "<img src=x onerror=alert(1)>.txt", "100%.md"]) {
    const url = new URL(href("file", ["dir", path], { v: "2" }, "#L1-L2"), "http://x");
    const route = parse(url.pathname, url.search, url.hash);
    assert.equal(route.view, "file");
    assert.deepEqual([route.parts[0], route.parts.slice(1).join("/")], ["dir", path]);
    assert.equal(route.query.get("v"), "2");
    assert.equal(route.hash, "#L1-L2");
  }
});

test("each first segment is a view, and nothing else is", () => {
  const views = { "/": "search", "/ask": "ask", "/files/notes/a.md": "files", "/status": "status", "/tools/files/file_stat": "tools", "/file/dir/a": "file" };
  for (const [path, view] of Object.entries(views)) assert.equal(parse(path).view, view, path);
  for (const path of ["/mcp", "/constructor", "/__proto__", "/healthz"]) assert.equal(parse(path).view, "missing", path);
});

test("empty parts of a query are left out", () => {
  assert.equal(href("search", [], { q: "a b", in: "", type: null }), "/?q=a+b");
  assert.equal(href("search"), "/");
});

test("broken escapes are a name like any other", () => {
  assert.deepEqual(parse("/file/dir/%E0%A4%A").parts, ["dir", "%E0%A4%A"]);
});

test("relative links start at the file", () => {
  assert.equal(resolve("docs/a/b.md", "../c.md"), "docs/c.md");
  assert.equal(resolve("docs/a.md", "/x/y.md"), "x/y.md");
  assert.equal(resolve("a.md", "../../etc/passwd"), "etc/passwd");
  assert.equal(resolve("a.md", "b%20c.md"), "b c.md");
});
