import assert from "node:assert/strict";
import { test } from "node:test";

const kept = new Map<string, string>();
Object.assign(globalThis, { sessionStorage: { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => kept.set(key, value), removeItem: (key: string) => kept.delete(key) } });
const { get, logIn, loginWanted, logOut, serverGone } = await import("../src/api/client.ts");

test("a refusal of what was sent before the log-in is not one of the user", async () => {
  let answer: (response: Response) => void = () => undefined;
  globalThis.fetch = () => new Promise((done) => (answer = done));
  const refused = () => new Response('{"error_code": 40100, "message": "Log in."}', { status: 401 });
  const first = get("graph").catch(() => undefined);
  logIn("Basic x");
  answer(refused());
  await first;
  assert.equal(loginWanted.value, null);
  const second = get("graph").catch(() => undefined);
  answer(refused());
  await second;
  assert.equal(loginWanted.value, "Log in.");
  logOut();
});

test("a server that hangs is gone", async (context) => {
  const limits: AbortController[] = [];
  context.mock.method(AbortSignal, "timeout", () => limits[limits.push(new AbortController()) - 1]!.signal);
  globalThis.fetch = (_, init) => new Promise((_, fail) => init!.signal!.addEventListener("abort", () => fail(init!.signal!.reason)));
  const asked = get("graph").catch(() => undefined);
  limits[0]!.abort(new DOMException("too long", "TimeoutError"));
  await asked;
  assert.equal(serverGone.value, "The server does not answer.");
  globalThis.fetch = () => Promise.resolve(new Response("{}"));
  await get("graph");
  assert.equal(serverGone.value, null);
});
