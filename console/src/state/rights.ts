// What the user may do, so that nothing else is offered. The server decides all the same.
import { signal } from "@preact/signals";
import { get, loginWanted } from "../api/client.ts";
import type { Rights, RoleName } from "../api/types.ts";
import { graph } from "./graph.ts";
import { highest, isEnough } from "./roles.ts";

export const rights = signal<Rights | null>(null);

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

/** Why the user may not run statements that need the role `least`, whatever names they have; null: they may, or it is not known yet. */
export function refusalOfAll(least: RoleName): string | null {
  if (rights.value === null) return null;
  const role = highest(rights.value);
  return isEnough(role, least) ? null : `needs the role ${least}; yours is ${role ?? "none"}`;
}

/** The highest role that the user has; admin as long as it is not known. */
export function roleNow(): RoleName {
  return rights.value === null ? "admin" : (highest(rights.value) ?? "reader");
}
