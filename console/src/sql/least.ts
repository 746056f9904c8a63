// Which role a statement needs at least, for what it is: the server decides, also by the names in it.
import type { RoleName } from "../api/types.ts";

const READER = /^(SELECT|WITH|SHOW|LIST|DESCRIBE|EXPLAIN|SET|UNSET|DEFINE|UNDEFINE)\b/i;
const ADMIN = /^(ALTER\s+SYSTEM|(CREATE|DROP)\s+(OR\s+REPLACE\s+)?(SOURCE\s+CONNECTOR|SINK|CONNECTOR|FUNCTION))\b/i;

function withoutComments(statement: string): string {
  return statement.replace(/^(\s+|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/)+/, "");
}

export function firstWord(statement: string): string {
  return withoutComments(statement).split(/[\s;]/, 1)[0]!.toUpperCase();
}

export function leastRole(statement: string): RoleName {
  const text = withoutComments(statement);
  return READER.test(text) ? "reader" : ADMIN.test(text) ? "admin" : "developer";
}
