// How far the new version of a table is, which runs beside the one that readers see.
import type { GraphNode } from "../api/types.ts";
import { count, short } from "../format/numbers.ts";

export function Progress({ node: { figures, newVersionOf } }: { node: GraphNode }) {
  const { lagRecords = null, arrivedRecords = null } = figures ?? {};
  if (lagRecords === null) return null;
  const title = `${newVersionOf} keeps its rows until ${count(lagRecords)} more records are read`;
  if (arrivedRecords === null) return <span title={title}>{short(lagRecords)} records left</span>;
  const read = arrivedRecords - lagRecords;
  return <span class="progress" title={title}><progress value={read} max={Math.max(1, arrivedRecords)} aria-hidden="true" /> {short(read)} of {short(arrivedRecords)} records</span>;
}
