// What failed in a query, as a pull query.
import { nameInSql } from "./statements.ts";

/** How many failures are read at most. */
export const MAX_FAILURES = 500;

/** The newest failures of a query in the last minutes. */
export function errorsOf(queryId: string, minutes: number, nowMs: number): string {
  return `SELECT * FROM ERRORS OF ${nameInSql(queryId)} WHERE \`TIME\` >= FROM_UNIXTIME(${nowMs - minutes * 60_000}) ORDER BY \`TIME\` DESC LIMIT ${MAX_FAILURES};`;
}

/** The statement that makes a server keep failed records which only counts them, as its answer to `errorsOf` says it; null: it keeps them. */
export function statementThatKeeps(error: unknown): string | null {
  const found = error instanceof Error ? /are only counted.*?(CREATE STREAM .*?;)/s.exec(error.message) : null;
  return found?.[1] ?? null;
}
