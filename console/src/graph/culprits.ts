// What is said above the graph about the queries that are in the way.
import type { Culprit } from "../api/types.ts";

const FAILED = /^It has failed[^:]*: (.*)$/s;

/** Queries with what is said after their names; those that have failed for one reason, as when Spark restarts, are said together. */
export function grouped(culprits: Culprit[]): { ids: string[]; said: string }[] {
  const groups = new Map<string, Culprit[]>();
  for (const one of culprits) {
    const cause = FAILED.exec(one.reason)?.[1] ?? `${one.queryId}\n`;
    groups.set(cause, [...(groups.get(cause) ?? []), one]);
  }
  return [...groups].map(([cause, [first, ...others]]) => ({
    ids: [first!, ...others].map((one) => one.queryId),
    said: others.length > 0 ? `have failed: ${cause.replace("this query continues", "they continue")}` : first!.reason.replace(/^It /, ""),
  }));
}
