// A tour of the console in a few steps, each on its page.
import { signal } from "@preact/signals";
import { graph } from "../state/graph.ts";
import { open } from "../state/route.ts";

const step = signal<number | null>(null);

const STEPS: { text: string; page: () => [string, string?, Record<string, string>?] }[] = [
  { text: "This is what runs: streams and tables, and the queries between them, from left to right. Each query says how much it reads and writes, how far behind it is, and how soon results are there.", page: () => ["flow"] },
  { text: "A click on a query leads to its page: its figures over time, its plan, its errors. It can be paused here, or ended.", page: () => ["query", queryOf("SALES")] },
  { text: "A stream or table has one, too: its columns, who writes and reads it, and the records as they come. Try “The first 100”.", page: () => ["source", "ORDERS"] },
  { text: "Statements are written in the editor. Ctrl-Enter runs this one: its table changes in place while orders come.", page: () => ["editor", "", { sql: "SELECT * FROM sales EMIT CHANGES;" }] },
  { text: "In another tab, insert an order: INSERT INTO orders (id, item, price) VALUES (13, 'tea', 3.5); and look at the table again. That is all.", page: () => ["editor", "", { sql: "INSERT INTO orders (id, item, price) VALUES (13, 'tea', 3.5);" }] },
];

function queryOf(sink: string): string {
  return graph.value?.nodes.find((node) => node.kind === "QUERY" && node.name.includes(`_${sink}_`))?.name ?? "";
}

export function startTour(): void {
  go(0);
}

function go(to: number): void {
  step.value = to < STEPS.length ? to : null;
  if (to < STEPS.length) open(...STEPS[to]!.page());
}

export function Tour() {
  const at = step.value;
  if (at === null) return null;
  return (
    <aside class="card tour" aria-label="Tour" aria-live="polite">
      <small class="hint">Step {at + 1} of {STEPS.length}</small>
      <p>{STEPS[at]!.text}</p>
      <button class="main" onClick={() => go(at + 1)}>{at + 1 < STEPS.length ? "Next" : "Done"}</button>{" "}
      <button class="quiet" onClick={() => (step.value = null)}>End the tour</button>
    </aside>
  );
}
