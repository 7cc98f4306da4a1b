import assert from "node:assert/strict";
import { test } from "node:test";
import { eventParser } from "../lib/events.js";

const read = (...chunks) => {
  const seen = [];
  const parse = eventParser((event) => seen.push(event));
  chunks.forEach(parse);
  return seen;
};

test("events are cut at empty lines, wherever the network cut them", () => {
  const whole = "id: a-1\nevent: hello\ndata: {\"x\":1}\n\n: ping\n\nevent: call\ndata: 1\ndata: 2\n\n";
  const expected = [{ id: "a-1", event: "hello", data: "{\"x\":1}" }, { id: "", event: "call", data: "1\n2" }];
  assert.deepEqual(read(whole), expected);
  assert.deepEqual(read(...whole), expected);
  assert.deepEqual(read(whole.replaceAll("\n", "\r\n")), expected);
});

test("what is not finished is not told", () => {
  assert.deepEqual(read("event: done\ndata: {}\n"), []);
});
