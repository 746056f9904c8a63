// The state of a query in colour and in words.

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

export function State({ state }: { state: string | undefined }) {
  return <span class={`state ${looksOf(state)}`}>{wordOf(state)}</span>;
}
