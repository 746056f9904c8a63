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
  timestamp: number | null;
  reason: string | null;
  columns: object | null;
  origin?: Record<string, string>;
}

interface TracedRows {
  name: string;
  queryId: string;
  rows?: number;
  used: number;
  dropped?: { reason: string; count: number }[];
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
  rows: { partition: number | null; offset: number | null; before: object | null; after: object | null }[];
  sinks: string[];
  notes: string[];
  below: Effect[];
}

/** How many rows and records are shown of each query. */
const MOST = 20;

/** The tree of an answer; null if it is another one. */
export function explained(entity: Entity): Branch | null {
  if (entity["@type"] === "row_explanation") {
    return traced(entity as unknown as TracedRows);
  }
  if (entity["@type"] !== "record_explanation") return null;
  const { names, record, queries, notes } = entity as unknown as { names: string[]; record: RecordOfRow; queries: Effect[]; notes: string[] };
  const read = queries.length === 0 ? [`No query reads ${names.join(", ")}.`] : [];
  return { label: lineOf(record), below: [...queries.map(changed), ...[...read, ...notes].map(leaf)] };
}

function traced({ name, queryId, rows, used, dropped = [], records, notes, upstream }: TracedRows): Branch {
  const shown = records.map(lineOf).slice(0, MOST);
  const lost = dropped.map(({ reason, count: n }) => `${counted(n, "record")} dropped: ${reason}`);
  const label = `${name} (${queryId}): ${rows === undefined ? "" : `${counted(rows, "row")} of `}${counted(used, "record")}`;
  const isWhole = records.some(({ reason }) => reason !== null) || records.length === 0;
  return { label, below: [...leaves(shown, isWhole ? shown.length : used), ...[...lost, ...notes].map(leaf), ...upstream.map(traced)] };
}

function changed({ name, queryId, outcome, reasons, changed: count, rows, sinks, notes, below }: Effect): Branch {
  const shown = rows.slice(0, MOST).map(({ partition, offset, before, after }) => `${offset === null ? "" : `${partition}/${offset} `}${text(before)} → ${text(after)}`);
  const label = `${name} (${queryId}): ${count > 0 ? `${counted(count, "row")} changed` : outcome}${sinks.map((sink) => `, in sink ${sink}`).join("")}`;
  return { label, below: [...reasons.map(leaf), ...leaves(shown, count), ...notes.map(leaf), ...below.map(changed)] };
}

function lineOf({ topic, partition, offset, timestamp, reason, columns, origin }: RecordOfRow): string {
  const time = timestamp === null ? "" : ` ${new Date(timestamp).toISOString().replace(".000", "")}`;
  const change = Object.entries(origin ?? {}).map(([name, value]) => ` ${name} ${value}`).join("");
  return `${topic} ${partition}/${offset}${time} ${text(columns)}${change}${reason === null ? "" : ` dropped: ${reason}`}`;
}

function counted(count: number, what: string): string {
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
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
