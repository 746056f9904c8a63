import assert from "node:assert/strict";
import { test } from "node:test";
import { own, type Statement } from "../src/sql/statements.ts";

Object.assign(globalThis, {
  sessionStorage: { getItem: () => null },
  document: { hidden: true },
  requestAnimationFrame: (draw: () => void) => setImmediate(draw),
  setTimeout: () => 0, // the graph is not asked for again
});
const { limitOf, Runner } = await import("../src/sql/runner.ts");

const insert: Statement = { ...own("INSERT INTO a VALUES (1);"), verb: "INSERT", object: "INTO", isQuery: false, hasQuery: false, role: "developer" };
const query = own("SELECT * FROM a;");

/** A server that answers when it is told to: the statements that it was sent, and how it answers each. */
function server() {
  const sent: string[] = [];
  const answers: (() => void)[] = [];
  globalThis.fetch = (_, init) => {
    const { ksql, sql } = JSON.parse(String(init!.body)) as { ksql?: string; sql?: string };
    return new Promise((done, fail) => {
      const answer = () => done(new Response(ksql === undefined ? "" : "[]"));
      init!.signal?.addEventListener("abort", () => fail(init!.signal!.reason));
      if (/^(SHOW|DESCRIBE)/.test(ksql ?? "")) return answer(); // for the tree of objects
      sent.push(ksql ?? sql!);
      answers.push(answer);
    });
  };
  return { sent, answers };
}

const settled = () => new Promise((done) => setImmediate(done));

test("a statement that changes something is waited for, and says so when it is stopped", async () => {
  const runner = new Runner();
  const { sent, answers } = server();
  const first = runner.run([insert]);
  const second = runner.run([query]);
  await settled();
  assert.deepEqual(sent, [insert.text]);
  assert.deepEqual(runner.outcomes.value.map((one) => one.isWaiting), [true, false]);
  answers[0]!();
  await first;
  await settled();
  assert.deepEqual(sent, [insert.text, query.text]);
  answers[1]!();
  await second;
  assert.ok(!runner.isRunning.value);
  assert.deepEqual(runner.outcomes.value.map((one) => one.message), ["", "Done."]);

  const runs = [runner.run([insert]), runner.run([insert])];
  await settled();
  runner.stop();
  await Promise.all(runs);
  const [waiting, stopped] = runner.outcomes.value;
  assert.match(stopped!.message, /^It was sent\. Whether it took effect is not known/);
  assert.equal(waiting!.message, "Stopped before it was sent.");
  assert.equal(sent.length, 3);
});

test("a query goes on beside a statement that changes something, until the next query", async () => {
  const runner = new Runner();
  const { sent, answers } = server();
  const first = runner.run([query]);
  await settled();
  const change = runner.run([insert]);
  await settled();
  answers[1]!();
  await change;
  const [inserted, live] = runner.outcomes.value;
  assert.equal(inserted!.message, "Done.");
  assert.equal(live!.endedMs, null);
  assert.ok(runner.isRunning.value);
  const next = runner.run([query]);
  await first;
  assert.equal(live!.message, "The next query of this tab has ended it.");
  await settled();
  runner.stop();
  await next;
  assert.equal(runner.outcomes.value[0]!.message, "Stopped.");
  assert.deepEqual(sent, [query.text, insert.text, query.text]);
});

test("how many rows a statement ends after", () => {
  assert.deepEqual(["SELECT * FROM a EMIT CHANGES LIMIT 100;", "select 1 limit 5 ;", "SELECT ' LIMIT 3' FROM a;"].map(limitOf), [100, 5, null]);
});
