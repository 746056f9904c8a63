// A server without streams: a small story to begin with.
import { useState } from "preact/hooks";
import { run } from "../api/client.ts";
import { Offered } from "../parts/offered.tsx";
import { Problem } from "../parts/problem.tsx";
import { refreshGraph } from "../state/graph.ts";
import { formatRoute } from "../state/route.ts";
import { startTour } from "../parts/tour.tsx";

const ROWS = [
  [1, "tea", 3.5], [2, "coffee", 4.2], [3, "kettle", 39], [4, "tea", 3.5], [5, "cup", 8], [6, "coffee", 4.2],
  [7, "grinder", 89], [8, "tea", 7], [9, "cup", 16], [10, "coffee", 8.4], [11, "kettle", 42], [12, "tea", 3.5],
] as const;

const STORY = `CREATE STREAM orders (id INT KEY, item STRING, price DOUBLE)
  WITH (KAFKA_TOPIC = 'console_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE STREAM big_orders AS
  SELECT * FROM orders WHERE price >= 20 EMIT CHANGES;

CREATE TABLE sales AS
  SELECT item, COUNT(*) AS n, SUM(price) AS revenue
  FROM orders GROUP BY item EMIT CHANGES;`;

export function Welcome() {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const create = async () => {
    setBusy(true);
    try {
      await run(STORY, { "auto.offset.reset": "earliest" });
      await run(ROWS.map(([id, item, price]) => `INSERT INTO orders (id, item, price) VALUES (${id}, '${item}', ${price});`).join("\n"));
      await refreshGraph();
      startTour();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return (
    <section class="card welcome">
      <h1>Nothing flows here yet</h1>
      <p>This server has no streams and no tables. A small story shows what they are: orders of a shop, those that are large, and the sales of each item.</p>
      <p>
        <Offered least="developer" what="Creating it">
          <button class="main" disabled={isBusy} onClick={create}>{isBusy ? "Creating …" : "Create the story"}</button>
        </Offered>{" "}
        or <a href={formatRoute("editor")}>write your own statements</a>
      </p>
      {problem !== null && <Problem error={problem} />}
      <pre class="lines" tabIndex={0}>{STORY}</pre>
      <p class="hint">It also inserts {ROWS.length} orders. DROP STREAM and DROP TABLE remove all of it.</p>
    </section>
  );
}
