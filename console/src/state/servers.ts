// The servers of one service id: each has a console of all their queries, so that another can go on for one that is lost.
import { computed, effect, signal } from "@preact/signals";
import { get, loginWanted, serverGone } from "../api/client.ts";
import type { HostStatus } from "../api/types.ts";
import { graph } from "./graph.ts";

const EVERY_MS = 60_000;

/** Those beside the server that this page comes from that were alive when it last answered: host:port. */
export const others = signal<string[]>([]);

/** Whether this server knows others. */
const hasServers = computed(() => graph.value?.hasServers === true && loginWanted.value === null);

/** Learn which servers there are, as long as this one answers. */
export function followServers(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ask = async () => {
    clearTimeout(timer);
    if (!hasServers.peek()) return;
    if (serverGone.peek() === null && !document.hidden) {
      try {
        const { clusterStatus } = await get<{ clusterStatus: Record<string, HostStatus> }>("clusterStatus");
        others.value = Object.entries(clusterStatus).filter(([host, status]) => status.hostAlive && host !== location.host).map(([host]) => host);
      } catch {
        // the user may not ask
      }
    }
    clearTimeout(timer);
    timer = setTimeout(ask, EVERY_MS);
  };
  effect(() => void (hasServers.value && ask()));
}

/** This page, from another server. */
export function pageOn(host: string): string {
  return `${location.protocol}//${host}/${location.hash}`;
}
