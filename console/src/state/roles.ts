// The roles, and what they are worth.
import type { Rights, RoleName } from "../api/types.ts";

const ORDER: RoleName[] = ["reader", "developer", "admin"];

export function isEnough(role: RoleName | null, least: RoleName): boolean {
  return role !== null && ORDER.indexOf(role) >= ORDER.indexOf(least);
}

/** The highest role, whatever it is for; null: none. */
export function highest(rights: Rights): RoleName | null {
  const all = [rights.role, ...rights.grants.map((grant) => grant.role)];
  return ORDER.findLast((role) => all.includes(role)) ?? null;
}
