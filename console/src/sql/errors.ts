// What failed in queries, as a pull query.
import { nameInSql, textInSql } from "./statements.ts";

/** How many failures are read at most, and of how many queries at once. */
export const MAX_FAILURES = 500;
export const MAX_QUERIES = 20;

/** The newest failures of queries in the last minutes. */
export function errorsOf(queryIds: string[], minutes: number, nowMs: number): string {
  const since = `WHERE \`TIME\` >= FROM_UNIXTIME(${nowMs - minutes * 60_000})`;
  const each = queryIds.map((id) => `SELECT ${textInSql(id)} AS \`QUERY\`, * FROM ERRORS OF ${nameInSql(id)} ${since}`);
  return `${each.join(" UNION ALL ")} ORDER BY \`TIME\` DESC LIMIT ${MAX_FAILURES};`;
}

/** The statement that makes a server keep failed records which only counts them, as its answer to `errorsOf` says it; null: it keeps them. */
export function statementThatKeeps(error: unknown): string | null {
  const found = error instanceof Error ? /are only counted.*?(CREATE STREAM .*?;)/s.exec(error.message) : null;
  return found?.[1] ?? null;
}
