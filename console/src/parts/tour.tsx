// A tour of the console in a few steps, each on its page.
import { signal } from "@preact/signals";
import { graph } from "../state/graph.ts";
import { open } from "../state/route.ts";

interface Step {
  text: string;
  page: () => [string, string?, Record<string, string>?];
}

const step = signal<{ tour: Step[]; at: number } | null>(null);

const FLOW = "This is what runs: streams and tables, and the queries between them, from left to right. Each query says how much it reads and writes, how far behind it is, and how soon results are there.";
const QUERY = "A click on a query leads to its page: its figures over time, its plan, its errors, what has happened to it. It can be paused here, or ended.";
const SOURCE = "A stream or table has one, too: its columns, who writes and reads it, where its delay comes from, and the records as they come. Try “The first 100”.";

export const SHOP_TOUR: Step[] = [
  { text: FLOW, page: () => ["flow"] },
  { text: QUERY, page: () => ["query", queryOf("SALES")] },
  { text: SOURCE, page: () => ["source", "ORDERS"] },
  { text: "Statements are written in the editor. Ctrl-Enter runs this one: its table changes in place while orders come.", page: () => ["editor", "", { sql: "SELECT * FROM sales EMIT CHANGES;" }] },
  { text: "In another tab, insert an order: INSERT INTO orders (id, item, price) VALUES (13, 'tea', 3.5); and look at the table again. That is all.", page: () => ["editor", "", { sql: "INSERT INTO orders (id, item, price) VALUES (13, 'tea', 3.5);" }] },
];

export const TAXI_TOUR: Step[] = [
  { text: FLOW, page: () => ["flow"] },
  { text: QUERY, page: () => ["query", queryOf("RIDES_BY_VENDOR")] },
  { text: SOURCE, page: () => ["source", "RIDES"] },
  { text: "Statements are written in the editor. Ctrl-Enter runs this one: its table changes in place with each ride; “Chart” draws it.", page: () => ["editor", "", { sql: "SELECT * FROM rides_by_vendor EMIT CHANGES;" }] },
  { text: "Where one part is slow, all after it waits: this page says where the delay of a table comes from, and names the culprit. That is all; the rides go on while the page is open.", page: () => ["source", "RIDES_PER_MINUTE"] },
];

function queryOf(sink: string): string {
  return graph.value?.nodes.find((node) => node.kind === "QUERY" && node.name.includes(`_${sink}_`))?.name ?? "";
}

export function startTour(tour: Step[]): void {
  go(tour, 0);
}

function go(tour: Step[], to: number): void {
  const next = tour[to];
  step.value = next === undefined ? null : { tour, at: to };
  if (next !== undefined) open(...next.page());
}

export function Tour() {
  if (step.value === null) return null;
  const { tour, at } = step.value;
  return (
    <aside class="tour" aria-label="Tour" aria-live="polite">
      <small class="state idle">Step {at + 1} of {tour.length}</small>
      <p>{tour[at]!.text}</p>
      <button class="main" onClick={() => go(tour, at + 1)}>{at + 1 < tour.length ? "Next" : "Done"}</button>
      <button class="quiet" onClick={() => (step.value = null)}>End the tour</button>
    </aside>
  );
}
