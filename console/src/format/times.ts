// Instants in the user's own time zone.

/** Columns of the engine that are epoch milliseconds. */
export const TIMES = ["ROWTIME", "WINDOWSTART", "WINDOWEND"];

/** The other names that statements give these columns: WINDOWSTART AS ws. */
export function renamedTimes(sql: string): string[] {
  const found = sql.matchAll(new RegExp(`\\b\`?(?:${TIMES.join("|")})\`?\\s+AS\\s+(?:\`([^\`]+)\`|(\\w+))`, "gi"));
  return [...found].map(([, quoted, plain]) => quoted ?? plain!.toUpperCase());
}

/** The time of day: 14:03:59. */
export function timeOfDay(ms: number): string {
  return preciseInstant(ms).slice(11, 19);
}

/** Date and time: 2026-01-31 14:03:59. */
export function instant(ms: number): string {
  return preciseInstant(ms).slice(0, 19);
}

/** Date and time with milliseconds, to sort by eye: 2026-01-31 14:03:59.123. */
export function preciseInstant(ms: number): string {
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return String(ms);
  const two = (number: number, digits = 2) => String(number).padStart(digits, "0");
  const day = `${two(at.getFullYear(), 4)}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${two(at.getMilliseconds(), 3)}`;
}

/** The user's time zone: Europe/Berlin. */
export function timeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
