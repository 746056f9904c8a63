// Generates the rides of the taxi story, every second, as long as the page is open and somebody wants them.
import { signal } from "@preact/signals";
import { insert } from "../api/rows.ts";
import { ride } from "./taxi.ts";

const EVERY_MS = 1000;
const YELLOW = 20;
const GREEN = 4;
/** Then somebody has forgotten them. */
const MOST_MS = 30 * 60_000;

/** How many events have been sent; null: none are generated. */
export const sent = signal<number | null>(null);
/** Why they have ended by themselves. */
export const ended = signal<string>("");

let timer: ReturnType<typeof setTimeout> | undefined;

export function startEvents(): void {
  stopEvents();
  sent.value = 0;
  ended.value = "";
  void send(Date.now());
}

export function stopEvents(): void {
  clearTimeout(timer);
  sent.value = null;
}

async function send(begunMs: number): Promise<void> {
  const now = Date.now();
  try {
    await insert("RIDES", Array.from({ length: YELLOW }, () => ride(now, "yellow")));
    await insert("GREEN_RIDES", Array.from({ length: GREEN }, () => ride(now, "green")));
  } catch (error) {
    stopEvents();
    ended.value = error instanceof Error ? error.message : String(error);
    return;
  }
  if (sent.value === null) return;
  sent.value += YELLOW + GREEN;
  if (now - begunMs > MOST_MS) stopEvents();
  else timer = setTimeout(() => void send(begunMs), Math.max(0, now + EVERY_MS - Date.now()));
}
