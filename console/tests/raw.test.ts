import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesOf, hexOf, textOf } from "../src/format/raw.ts";

const raw = (bytes: number[]) => ({ base64: Buffer.from(bytes).toString("base64"), size: bytes.length });

test("bytes are text where they can be", () => {
  assert.equal(textOf(bytesOf(raw([...Buffer.from('{"ü": 1}\n')]))), '{"ü": 1}\n');
  assert.equal(textOf(bytesOf(raw([0xff, 0x00]))), null);
  assert.equal(textOf(bytesOf(raw([0, 0, 0, 0, 7, 2, 65]))), null);
  assert.equal(textOf(bytesOf(raw([]))), "");
});

test("others are hexadecimal, sixteen in a line", () => {
  const lines = hexOf(bytesOf(raw([0, 255, ...Buffer.from("abcdefghijklmnop")]))).split("\n");
  assert.equal(lines[0], "0000  00 ff 61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 6e  ..abcdefghijklmn");
  assert.ok(lines[1]!.startsWith("0010  6f 70 ") && lines[1]!.endsWith(" op"));
});
