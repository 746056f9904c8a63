import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { recall, remember } from "../src/state/stored.ts";

test("what changes with each key is written once", () => {
  const written: string[] = [];
  const storage = { getItem: () => null, setItem: (_: string, value: string) => written.push(value) };
  Object.defineProperty(globalThis, "localStorage", { value: storage, configurable: true });
  mock.timers.enable({ apis: ["setTimeout"] });
  let text = "";
  for (let keys = 0; keys < 20_000; keys++) remember("tabs", (text += ";"));
  assert.deepEqual(written, []);
  assert.equal(recall("tabs", ""), text);
  mock.timers.tick(1_000);
  assert.deepEqual(written, [JSON.stringify(text)]);
  assert.equal(recall("tabs", ""), "");
});
