// JSON whose numbers keep all their digits, as BIGINT and DECIMAL need.

type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown;
const parse = JSON.parse as (text: string, reviver?: Reviver) => unknown;

/** A number that JavaScript's have not enough digits for. */
export class ExactNumber {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text;
  }
  toJSON(): string {
    return this.text;
  }
}

/** Parse JSON; numbers that would lose digits become ExactNumber where the browser says how they were written. */
export function parseExactly(text: string): unknown {
  if (!/\d[\d.]{14,}/.test(text)) return parse(text);
  return parse(text, (_key, value, context) =>
    typeof value === "number" && context?.source !== undefined && losesDigits(value, context.source)
      ? new ExactNumber(context.source)
      : value,
  );
}

function losesDigits(value: number, source: string): boolean {
  return /^-?\d+(\.\d+)?$/.test(source) && String(value) !== source && !/^-?\d{1,15}(\.\d+)?0$/.test(source);
}
