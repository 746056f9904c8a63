// Instants in the user's own time zone.

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** The time of day: 14:03:59. */
export function timeOfDay(ms: number): string {
  return clock.format(ms);
}

/** Date and time. */
export function instant(ms: number): string {
  return full.format(ms);
}

/** The user's time zone: Europe/Berlin. */
export function timeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
