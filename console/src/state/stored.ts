// What this browser remembers.

/** How long a value waits to be written: the text of all tabs, for example, changes with each key. */
const LATER_MS = 300;

/** Values that are not written yet. */
const waiting = new Map<string, unknown>();

/** A value of localStorage; `otherwise` if there is none, or it cannot be read. */
export function recall<T>(key: string, otherwise: T): T {
  if (waiting.has(key)) return waiting.get(key) as T;
  try {
    const text = localStorage.getItem(`ksql-spark.${key}`);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

/** Remember a value, in a moment or when the page is left; a browser whose storage is full or off forgets it. */
export function remember(key: string, value: unknown): void {
  if (waiting.size === 0) setTimeout(write, LATER_MS);
  waiting.set(key, value);
}

function write(): void {
  for (const [key, value] of waiting) {
    try {
      localStorage.setItem(`ksql-spark.${key}`, JSON.stringify(value));
    } catch {
      // then it is forgotten
    }
  }
  waiting.clear();
}

globalThis.addEventListener?.("pagehide", write);
