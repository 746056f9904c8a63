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
