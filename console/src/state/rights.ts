// What the user may do, so that nothing else is offered. The server decides all the same.
import { signal } from "@preact/signals";
import { get, loginWanted } from "../api/client.ts";
import type { Rights, RoleName } from "../api/types.ts";
import { graph } from "./graph.ts";

export const rights = signal<Rights | null>(null);

const ORDER: RoleName[] = ["reader", "developer", "admin"];

/** Ask who the user is, now and after each login. */
export function followRights(): void {
  loginWanted.subscribe((wanted) => {
    rights.value = null;
    if (wanted !== null) return;
    void get<Rights>("rights").then((found) => (rights.value = found), () => undefined);
  });
}

/** Why the user may not do what needs the role `least` for something; null: they may, or it is not known yet. */
export function refusal(least: RoleName, what?: string): string | null {
  if (rights.value === null) return null;
  const role = graph.value?.nodes.find((node) => node.id === what)?.role ?? rights.value.role;
  return isEnough(role, least) ? null : `needs the role ${least}; yours is ${role ?? "for other names only"}`;
}

export function isEnough(role: RoleName | null, least: RoleName): boolean {
  return role !== null && ORDER.indexOf(role) >= ORDER.indexOf(least);
}
