import assert from "node:assert/strict";
import { test } from "node:test";
import { merged } from "../parts/diff-view.js";

const hunks = [
  { kind: "same", lines: ["a"] },
  { kind: "conflict", base: ["b"], theirs: ["t"], mine: ["m"] },
  { kind: "theirs", base: ["c"], theirs: ["c2"], mine: ["c"] },
  { kind: "mine", base: ["d"], theirs: ["d"], mine: ["d2"] },
  { kind: "both", base: ["e"], theirs: ["e2"], mine: ["e2"] },
];

test("there is no text before each conflict is decided", () => {
  assert.equal(merged(hunks, new Map(), true), null);
});

test("clean changes of both sides are taken, conflicts as they were decided", () => {
  assert.equal(merged(hunks, new Map([[1, "mine"]]), true), "a\nm\nc2\nd2\ne2\n");
  assert.equal(merged(hunks, new Map([[1, "theirs"]]), false), "a\nt\nc2\nd2\ne2");
  assert.equal(merged(hunks, new Map([[1, "both"]]), true), "a\nt\nm\nc2\nd2\ne2\n");
});

test("a clean change can be taken back", () => {
  assert.equal(merged(hunks, new Map([[1, "mine"], [2, "mine"]]), true), "a\nm\nc\nd2\ne2\n");
});

test("a change that both made is not doubled", () => {
  assert.equal(merged(hunks, new Map([[1, "mine"], [4, "both"]]), true), "a\nm\nc2\nd2\ne2\n");
});
