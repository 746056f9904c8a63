// An example of a function as a statement that can be run.
import { nameInSql } from "./statements.ts";

/** One row of a stream, for which the example is evaluated. */
export function exampleOf(call: string, stream: string): string {
  return `SET 'auto.offset.reset' = 'earliest';\n\nSELECT ${call} AS result FROM ${nameInSql(stream)} EMIT CHANGES LIMIT 1;`;
}
