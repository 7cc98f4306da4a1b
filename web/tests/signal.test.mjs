import assert from "node:assert/strict";
import { test } from "node:test";
import { derived, effect, signal } from "../lib/signal.js";

test("an effect runs now and after each change, and only of what it read", () => {
  const [a, b, seen] = [signal(1), signal(10), []];
  effect(() => { seen.push(a.value); b.peek(); });
  a.value = 2;
  a.value = 2;
  b.value = 11;
  assert.deepEqual(seen, [1, 2]);
});

test("what is derived follows", () => {
  const a = signal(2);
  const twice = derived(() => a.value * 2);
  assert.equal(twice.value, 4);
  a.value = 5;
  assert.equal(twice.value, 10);
});

test("a branch that is no longer read no longer counts", () => {
  const [which, a, b] = [signal(true), signal("a"), signal("b")];
  let runs = 0;
  effect(() => { runs += 1; return which.value ? a.value : b.value; });
  which.value = false;
  a.value = "x";
  assert.equal(runs, 2);
});

test("an effect ends with its view", () => {
  const life = new AbortController();
  const a = signal(0);
  let runs = 0;
  effect(() => { runs += 1; return a.value; }, life.signal);
  life.abort();
  a.value = 1;
  assert.equal(runs, 1);
});
