// What EXPLAIN says of a query's result.
import type { QueryDescription } from "../api/types.ts";

/**
 * The columns that tell the rows of a query's result apart, if that is a table and has them; empty if each row is
 * one of its own.
 */
export function keyOfResult(described: Pick<QueryDescription, "executionPlan" | "fields">, readsWindows: boolean): string[] {
  const { executionPlan: plan, fields } = described;
  if (!/\[ TRANSIENT SELECT \][^\n]*\n\s*> \[ TABLE/.test(plan)) return [];
  const columns = fields.map((field) => field.name);
  const key = (/\bKey: ([^|\n]*)/.exec(plan)?.[1] ?? "").split(", ").map((name) => name.trim().replace(/^`(.*)`$/, "$1"));
  const isWindowed = readsWindows || /\| Window: /.test(plan);
  const bounds = isWindowed ? ["WINDOWSTART"] : [];
  const wanted = [...new Set([...key, ...bounds])];
  return wanted.every((name) => columns.includes(name)) ? wanted : [];
}
