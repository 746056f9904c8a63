// What a page asks the server for: once, or every few seconds while somebody looks.
import { useEffect, useState } from "preact/hooks";
import { serverGone } from "../api/client.ts";

export interface Asked<T> {
  value: T | null;
  error: unknown;
  /** Ask again now. */
  again: () => void;
}

/** Ask when the page opens, when `key` changes, and `everyMs` after each answer (0: not again). */
export function useAsked<T>(ask: () => Promise<T>, key: string, everyMs = 0): Asked<T> {
  const [found, setFound] = useState<{ value: T | null; error: unknown }>({ value: null, error: null });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOpen = true;
    const now = async () => {
      if (!document.hidden) {
        try {
          const value = await ask();
          if (isOpen) setFound({ value, error: null });
        } catch (error) {
          // what was there stays, if the server is gone for a while
          if (isOpen) setFound((before) => ({ value: before.value, error: serverGone.value === null ? error : null }));
        }
      }
      if (isOpen && everyMs > 0) timer = setTimeout(now, everyMs);
    };
    void now();
    return () => {
      isOpen = false;
      clearTimeout(timer);
    };
  }, [key, turn, everyMs]);
  return { ...found, again: () => setTurn(turn + 1) };
}
