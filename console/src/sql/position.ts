// Where in a stream or table reading begins, as a WHERE clause.

/**
 * The clause for records from a time and an offset on; empty if neither is given.
 *
 * @param since as an input of type datetime-local has it, in the user's time zone; "": any time.
 * @param offset a whole number, of every partition; "": any.
 */
export function wherePosition(since: string, offset: string): string {
  const at = Date.parse(since);
  const conditions = [
    ...(Number.isNaN(at) ? [] : [`ROWTIME >= ${at}`]),
    ...(/^\d+$/.test(offset) ? [`ROWOFFSET >= ${offset}`] : []),
  ];
  return conditions.length > 0 ? ` WHERE ${conditions.join(" AND ")}` : "";
}

/** Of more records than that, not all are read for the newest ones. */
const MANY = 100_000;
const DAY_MS = 86_400_000;

/**
 * The clause for about the newest records: of many, those of a time in which four times as many should have come.
 *
 * @param newest how many are wanted.
 * @param figures of their topic.
 * @param nowMs epoch milliseconds.
 */
export function whereNew(newest: number, figures: { arrivingPerS: number | null; records: number | null } | undefined, nowMs: number): string {
  if ((figures?.records ?? 0) <= MANY) return "";
  const perS = figures?.arrivingPerS ?? 0;
  const since = perS > 0 ? Math.min(DAY_MS, Math.max(10_000, (4000 * newest) / perS)) : DAY_MS;
  return ` WHERE ROWTIME >= ${Math.floor(nowMs - since)}`;
}
