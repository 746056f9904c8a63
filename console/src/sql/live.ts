// Rows of a query as they stand: each row for itself, or the latest of each key; never more than a number of them.

/** How many rows are kept. */
export const MOST_ROWS = 2000;

export class LiveRows {
  /** How many rows have come, deletions too. */
  came = 0;
  private readonly byKey = new Map<string, unknown[]>();
  private list: unknown[][] = [];

  /** `keys`: where in a row its key is; null: rows have none. */
  constructor(private readonly keys: number[] | null) {}

  add(row: unknown[], isDeleted: boolean): void {
    this.came++;
    if (this.keys === null) {
      this.list.push(row);
      if (this.list.length >= MOST_ROWS * 1.5) this.list = this.list.slice(-MOST_ROWS);
      return;
    }
    const key = JSON.stringify(this.keys.map((index) => row[index]));
    if (isDeleted) {
      this.byKey.delete(key);
      return;
    }
    // a key that is there keeps its place
    this.byKey.set(key, row);
    if (this.byKey.size > MOST_ROWS) this.byKey.delete(this.byKey.keys().next().value!);
  }

  /** The rows of now. */
  rows(): unknown[][] {
    return this.keys === null ? this.list.slice(-MOST_ROWS) : [...this.byKey.values()];
  }

  get isByKey(): boolean {
    return this.keys !== null;
  }
}
