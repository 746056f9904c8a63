// What this browser remembers.

/** A value of localStorage; `otherwise` if there is none, or it cannot be read. */
export function recall<T>(key: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(`ksql-spark.${key}`);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

/** Remember a value; a browser whose storage is full or off forgets it. */
export function remember(key: string, value: unknown): void {
  try {
    localStorage.setItem(`ksql-spark.${key}`, JSON.stringify(value));
  } catch {
    // then it is forgotten
  }
}
