// CREATE CONNECTOR, from what somebody has filled in.
import { nameInSql, textInSql } from "./statements.ts";

/**
 * The statement that creates a connector; settings without a value are left out.
 *
 * @param kind "source" or "sink".
 */
export function createConnector(kind: string, name: string, className: string, settings: Record<string, string>): string {
  const given = [["connector.class", className], ...Object.entries(settings).filter(([, value]) => value !== "")];
  const lines = given.map(([key, value]) => `  ${textInSql(key!)} = ${textInSql(value!)}`);
  return `CREATE ${kind.toUpperCase()} CONNECTOR ${nameInSql(name)} WITH (\n${lines.join(",\n")}\n);`;
}
