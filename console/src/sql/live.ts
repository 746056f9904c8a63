// Rows of a query as they stand: the answer of a pull query, the latest rows of a push query, or the latest of each
// key; never more than a number of them.

/** How many rows are kept, and how long their texts may be together. */
export const MOST_ROWS = 2000;
export const MOST_CHARACTERS = 20_000_000;

export class LiveRows {
  /** How many rows have come, deletions too. */
  came = 0;
  /** By their keys, or by their numbers; the oldest first. */
  private readonly kept = new Map<string | number, { row: unknown[]; size: number }>();
  private size = 0;

  /**
   * @param keys where in a row its key is; null: rows have none.
   * @param isPush whether the latest rows matter most; else the first ones of an answer.
   */
  constructor(private readonly keys: number[] | null, private readonly isPush = true) {}

  add(row: unknown[], isDeleted: boolean): void {
    this.came++;
    const key = this.keys === null ? this.came : JSON.stringify(this.keys.map((index) => row[index]));
    this.size -= this.kept.get(key)?.size ?? 0;
    if (isDeleted && this.keys !== null) {
      this.kept.delete(key);
      return;
    }
    const size = sizeOf(row);
    if (!this.isPush && this.kept.size > 0 && (this.kept.size < this.came - 1 || this.isFull(1, size))) return;
    this.size += size;
    // a key that is there keeps its place
    this.kept.set(key, { row, size });
    while (this.kept.size > 1 && this.isFull()) {
      const [oldest, { size: its }] = this.kept.entries().next().value!;
      this.kept.delete(oldest);
      this.size -= its;
    }
  }

  /** The rows of now. */
  rows(): unknown[][] {
    return [...this.kept.values()].map(({ row }) => row);
  }

  get isByKey(): boolean {
    return this.keys !== null;
  }

  /** Whether the newest row is wanted on top: a pull query's order is that of its answer. */
  get isNewestFirst(): boolean {
    return this.isPush && this.keys === null;
  }

  private isFull(moreRows = 0, moreCharacters = 0): boolean {
    return this.kept.size + moreRows > MOST_ROWS || this.size + moreCharacters > MOST_CHARACTERS;
  }
}

/** The latest of some lines that fit. */
export function latest(lines: string[]): string[] {
  let size = 0;
  const first = lines.findLastIndex((line, at) => lines.length - at > MOST_ROWS || (size += line.length) > MOST_CHARACTERS);
  return lines.slice(first + 1);
}

/** About how many characters a row has. */
function sizeOf(row: unknown[]): number {
  return row.reduce<number>((sum, cell) => sum + (typeof cell === "string" ? cell.length : typeof cell === "object" ? JSON.stringify(cell).length : 8), 0);
}
