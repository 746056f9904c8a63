// How often something took how long, as bars.
import type { Histogram } from "../api/types.ts";
import { span } from "./numbers.ts";

interface Class {
  label: string;
  count: number;
}

const MOST_CLASSES = 16;

/** A label and a number for each class, from the first that is not empty to the last. */
export function classes({ bounds, counts }: Histogram): Class[] {
  const all = counts.map((count, at) => ({
    label: at < bounds.length ? `up to ${span(bounds[at])}` : `above ${span(bounds.at(-1))}`,
    count,
  }));
  const first = all.findIndex(({ count }) => count > 0);
  return first < 0 ? [] : fewer(all.slice(first, all.findLastIndex(({ count }) => count > 0) + 1));
}

/** The classes; of too many, each with the one after it. */
function fewer(classes: Class[]): Class[] {
  if (classes.length <= MOST_CLASSES) return classes;
  const pairs = classes.flatMap(({ count }, at) => {
    const last = classes[at + 1] ?? classes[at]!;
    return at % 2 === 1 ? [] : [{ label: last.label, count: at + 1 < classes.length ? count + last.count : count }];
  });
  return fewer(pairs);
}

/**
 * Below which time a share of the times are, seconds, as if those between two bounds were spread evenly; null: there are none, or it is above
 * the last bound.
 */
export function within({ bounds, counts }: Histogram, share: number): number | null {
  let left = share * counts.reduce((all, one) => all + one, 0);
  for (const [at, bound] of bounds.entries()) {
    const count = counts[at]!;
    const below = bounds[at - 1] ?? 0;
    if (count > 0 && left <= count) return below + ((bound - below) * left) / count;
    left -= count;
  }
  return null;
}
