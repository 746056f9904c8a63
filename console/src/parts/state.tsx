// The state of a query in colour and in words.
import { serverGone } from "../api/client.ts";

const LOOKS: Record<string, string> = { RUNNING: "good", ERROR: "bad", FAILED: "bad", PAUSED: "warn", UNRESPONSIVE: "bad" };
const WORDS: Record<string, string> = {
  RUNNING: "running", ERROR: "failed", PAUSED: "paused", REGISTERED: "starting", ELSEWHERE: "on another server",
};

/** The class of colours of a state. */
export function looksOf(state: string | undefined): string {
  return LOOKS[state ?? ""] ?? "idle";
}

/** The word for a state. */
export function wordOf(state: string | undefined): string {
  return WORDS[state ?? ""] ?? (state ?? "unknown").toLowerCase();
}

/** The state of now; of a server that is gone, the last one that is known. `isPast`: one of the past. */
export function State({ state, isPast = false }: { state: string | undefined; isPast?: boolean }) {
  if (!isPast && serverGone.value !== null) return <span class="state idle">was {wordOf(state)}</span>;
  return <span class={`state ${looksOf(state)}`}>{wordOf(state)}</span>;
}
