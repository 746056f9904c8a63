// What failed in a query, as a pull query.
import { nameInSql } from "./statements.ts";

/** How many failures are read at most. */
export const MAX_FAILURES = 500;

/** The newest failures of a query in the last minutes. */
export function errorsOf(queryId: string, minutes: number, nowMs: number): string {
  return `SELECT * FROM ERRORS OF ${nameInSql(queryId)} WHERE \`TIME\` >= FROM_UNIXTIME(${nowMs - minutes * 60_000}) ORDER BY \`TIME\` DESC LIMIT ${MAX_FAILURES};`;
}

/** What a server needs to keep failed records, beside their numbers. */
export const KEEPING = ["topic.auto.create", "stream.auto.create", "rows.include"].map((name) => `ksql.logging.processing.${name}=true`);

/** Whether the server keeps failed records; not if the answer to `errorsOf` is that it only counts them. */
export function areErrorsKept(error: unknown): boolean {
  return !(error instanceof Error && error.message.includes("Errors are only counted"));
}
