// Bytes as people can read them: as text where they are text, else in hexadecimal.

/** How many bytes are shown in hexadecimal. */
const MOST_HEX = 512;
const PER_LINE = 16;

export interface Raw {
  base64: string;
  /** How many bytes there are; base64 may have only the first. */
  size: number;
}

export function bytesOf({ base64 }: Raw): Uint8Array {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}

/** The text of bytes; null: they are not UTF-8, or have control characters. */
export function textOf(data: Uint8Array): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(data);
    return /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.test(text) ? null : text;
  } catch {
    return null;
  }
}

/** Lines of an offset, sixteen bytes in hexadecimal, and the same as ASCII. */
export function hexOf(data: Uint8Array): string {
  const lines = [];
  for (let at = 0; at < Math.min(data.length, MOST_HEX); at += PER_LINE) {
    const some = [...data.subarray(at, Math.min(at + PER_LINE, MOST_HEX))];
    const hex = some.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const ascii = some.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(4, "0")}  ${hex.padEnd(Math.min(data.length, PER_LINE) * 3)} ${ascii}`);
  }
  return lines.join("\n");
}
