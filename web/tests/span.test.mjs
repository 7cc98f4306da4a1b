import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesToLines, captioned, citation, clock, hashToSpan, pageWord, spanLabel, spanToHash } from "../lib/span.js";

const lines = (start, end = start) => ({ kind: "lines", start_line: start, end_line: end });

test("what an address says is what it was made from", () => {
  for (const span of [lines(1), lines(10, 15), { kind: "page", page: 7 }, { kind: "time", start_ms: 75_000, end_ms: 90_500 }]) {
    assert.deepEqual(hashToSpan(spanToHash(span)), span);
  }
  assert.equal(spanToHash(null), "");
});

test("both ways to write lines are understood", () => {
  for (const hash of ["#L10-15", "#L10-L15", "L10-L15", "#L15-L10"]) assert.deepEqual(hashToSpan(hash), lines(10, 15));
  assert.deepEqual(hashToSpan("#t=75,90"), { kind: "time", start_ms: 75_000, end_ms: 90_000 });
  assert.deepEqual(hashToSpan("#t=75"), { kind: "time", start_ms: 75_000, end_ms: 75_000 });
});

test("anything else is no place", () => {
  for (const hash of ["", "#", "#L", "#L0", "#page=0", "#page=x", "#L1-Lx", "#t=", "#s-heading", "#L99999999999", "#code=abc"]) {
    assert.equal(hashToSpan(hash), null, hash);
  }
});

test("citations are those of the tools", () => {
  assert.equal(citation("src/a.rs", lines(1, 8)), "[src/a.rs:L1-L8]");
  assert.equal(citation("a.pdf", { kind: "page", page: 3 }), "[a.pdf#p=3]");
  assert.equal(citation("a.vtt", { kind: "time", start_ms: 30_000, end_ms: 60_000 }), "[a.vtt@t=00:30-01:00]");
  assert.equal(clock(3_661_000), "1:01:01");
});

test("a page is called what its file calls it", () => {
  assert.deepEqual(["a.pdf", "b.pptx", "c.xlsx", "d.epub"].map(pageWord), ["page", "slide", "sheet", "chapter"]);
  assert.equal(spanLabel({ kind: "page", page: 2 }, "b.pptx"), "slide 2");
  assert.equal(spanLabel(lines(3, 9), "a"), "L3–L9");
});

test("bytes become lines, counted in UTF-8", () => {
  const text = "ab\nçd\nef\n";
  assert.deepEqual(bytesToLines(text, 0, 2), lines(1));
  assert.deepEqual(bytesToLines(text, 3, 6), lines(2));
  assert.deepEqual(bytesToLines(text, 3, 10), lines(2, 3));
  assert.deepEqual(bytesToLines(text, 0, 1000), lines(1, 4));
});

test("the first line of a snippet says where it is", () => {
  assert.deepEqual(captioned("@@ L34-L60 @@ impl A > fn b\nx\ny"), { text: "x\ny", scope: "impl A > fn b", lines: lines(34, 60) });
  assert.deepEqual(captioned("@@ sheet 'Q2' rows 1-40, L9 @@ Revenue\nx"), { text: "x", scope: "sheet 'Q2' rows 1-40 · Revenue", lines: lines(9) });
  assert.deepEqual(captioned("plain @@ text"), { text: "plain @@ text", scope: "", lines: null });
});
