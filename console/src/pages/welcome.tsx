// A server without streams: stories to begin with.
import { useState } from "preact/hooks";
import { run } from "../api/client.ts";
import { insert } from "../api/rows.ts";
import { Offered } from "../parts/offered.tsx";
import { Problem } from "../parts/problem.tsx";
import { SHOP_TOUR, startTour, TAXI_TOUR } from "../parts/tour.tsx";
import { refreshGraph } from "../state/graph.ts";
import { formatRoute } from "../state/route.ts";
import { startEvents } from "../stories/events.ts";
import { SHOP_ORDERS, SHOP_SQL } from "../stories/shop.ts";
import { TAXI_SQL } from "../stories/taxi-sql.ts";
import { zoneRows } from "../stories/taxi.ts";

const STORIES = [
  {
    name: "The taxi story",
    says: "Rides of New York's taxis, 24 a second as long as this page is open: totals by vendor and minute, a split by price, a join with zones, a join of yellow and green.",
    sql: TAXI_SQL,
    create: async () => {
      await run(TAXI_SQL);
      await insert("ZONES", zoneRows());
      startEvents();
    },
    tour: TAXI_TOUR,
  },
  {
    name: "The shop",
    says: "Twelve orders, those that are large, and the sales of each item: two queries, for a slow machine.",
    sql: SHOP_SQL,
    create: async () => {
      await run(SHOP_SQL, { "auto.offset.reset": "earliest" });
      await run(SHOP_ORDERS);
    },
    tour: SHOP_TOUR,
  },
];

export function Welcome() {
  const [busy, setBusy] = useState<string | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const start = async (story: (typeof STORIES)[number]) => {
    setBusy(story.name);
    setProblem(null);
    try {
      await story.create();
      await refreshGraph();
      startTour(story.tour);
    } catch (error) {
      setProblem(error);
      setBusy(null);
    }
  };
  return (
    <section class="card welcome">
      <h1>Nothing flows here yet</h1>
      <p>This server has no streams and no tables. A story creates some, and a tour shows what they are; or <a href={formatRoute("editor")}>write your own statements</a>.</p>
      {problem !== null && <Problem error={problem} />}
      {STORIES.map((story) => (
        <article key={story.name}>
          <h2>{story.name}</h2>
          <p>{story.says}</p>
          <Offered least="developer" what="Creating it">
            <button class="main" disabled={busy !== null} onClick={() => void start(story)}>{busy === story.name ? "Creating …" : `Load ${story.name[0]!.toLowerCase()}${story.name.slice(1)}`}</button>
          </Offered>
          <details><summary>Its statements</summary><pre class="lines" tabIndex={0}>{story.sql}</pre></details>
        </article>
      ))}
      <p class="hint">DROP STREAM and DROP TABLE remove all of it.</p>
    </section>
  );
}
