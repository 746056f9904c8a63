// Numbers as people read them: thousands apart, with units, no more digits than they are worth.

const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });

export const NONE = "–";

/** A count: 12,345. */
export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? NONE : whole.format(value);
}

/** A short number for a small place: 950, 12.3k, 4.5M. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE;
  const size = Math.abs(value);
  if (size !== 0 && size < 10) return fine.format(Math.round(value * 100) / 100);
  if (size < 9_999.5) return whole.format(value);
  for (const [unit, of] of [["k", 1e3], ["M", 1e6], ["G", 1e9]] as const) {
    if (size < of * 999.5 || unit === "G") return `${fine.format(value / of)}${unit}`;
  }
  return whole.format(value);
}

/** A rate: 1,234/s. */
export function rate(value: number | null | undefined): string {
  return value === null || value === undefined ? NONE : `${short(value)}/s`;
}

/** A time span: 3 ms, 1.5 s, 4 min, 2.1 h, 3 d. */
export function span(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds === 0) return "0 s";
  if (seconds < 0.9995) return `${fine.format(seconds * 1000)} ms`;
  if (seconds < 119.5) return `${fine.format(seconds)} s`;
  if (seconds < 7_170) return `${fine.format(Math.round(seconds / 6) / 10)} min`;
  if (seconds < 172_800) return `${fine.format(seconds / 3600)} h`;
  return `${whole.format(seconds / 86_400)} d`;
}

/** Bytes: 512 B, 1.5 MB. */
export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE;
  if (value < 1000) return `${whole.format(value)} B`;
  for (const [unit, of] of [["kB", 1e3], ["MB", 1e6], ["GB", 1e9]] as const) {
    if (value < of * 1000) return `${fine.format(value / of)} ${unit}`;
  }
  return `${fine.format(value / 1e12)} TB`;
}
