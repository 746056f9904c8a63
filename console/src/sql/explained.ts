// The trees of EXPLAIN ROW and EXPLAIN RECORD: lines, and what is below them.
import type { Entity } from "../api/types.ts";

export interface Branch {
  label: string;
  below: Branch[];
}

interface RecordOfRow {
  topic: string;
  partition: number;
  offset: number;
  columns: object | null;
  origin?: Record<string, string>;
}

interface TracedRows {
  name: string;
  queryId: string;
  used: number;
  records: RecordOfRow[];
  notes: string[];
  upstream: TracedRows[];
}

interface Effect {
  name: string;
  queryId: string;
  outcome: string;
  reasons: string[];
  changed: number;
  rows: { before: object | null; after: object | null }[];
  sinks: string[];
  notes: string[];
  below: Effect[];
}

/** How many rows and records are shown of each query. */
const MOST = 5;

/** The tree of an answer; null if it is another one. */
export function explained(entity: Entity): Branch | null {
  if (entity["@type"] === "row_explanation") {
    return traced(entity as unknown as TracedRows);
  }
  if (entity["@type"] !== "record_explanation") return null;
  const { record, queries, notes } = entity as unknown as { record: RecordOfRow; queries: Effect[]; notes: string[] };
  return { label: lineOf(record), below: [...queries.map(changed), ...notes.map(leaf)] };
}

function traced({ name, queryId, used, records, notes, upstream }: TracedRows): Branch {
  const shown = records.map(lineOf).slice(0, MOST);
  return { label: `${name} (${queryId}): of ${used} records`, below: [...leaves(shown, records.length === 0 ? 0 : used), ...notes.map(leaf), ...upstream.map(traced)] };
}

function changed({ name, queryId, outcome, reasons, changed: count, rows, sinks, notes, below }: Effect): Branch {
  const shown = rows.slice(0, MOST).map(({ before, after }) => `${text(before)} → ${text(after)}`);
  const label = `${name} (${queryId}): ${count > 0 ? `${count} changed` : outcome}${sinks.map((sink) => `, in sink ${sink}`).join("")}`;
  return { label, below: [...reasons.map(leaf), ...leaves(shown, count), ...notes.map(leaf), ...below.map(changed)] };
}

function lineOf({ topic, partition, offset, columns, origin }: RecordOfRow): string {
  const change = Object.entries(origin ?? {}).map(([name, value]) => ` ${name} ${value}`).join("");
  return `${topic} ${partition}/${offset} ${text(columns)}${change}`;
}

function leaves(shown: string[], count: number): Branch[] {
  const more = count - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].map(leaf);
}

function leaf(label: string): Branch {
  return { label, below: [] };
}

function text(row: object | null): string {
  return row === null ? "–" : JSON.stringify(row);
}
