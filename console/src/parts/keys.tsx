// Keys for the whole console, and the list of them.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { open } from "../state/route.ts";
import { recall, remember } from "../state/stored.ts";
import { toggleTheme } from "../state/theme.ts";

const PAGES: Record<string, [page: string, name: string]> = {
  f: ["flow", "Flow"], e: ["editor", "Editor"], t: ["topics", "Topics"], c: ["connectors", "Connectors"],
  l: ["log", "Failed records"], u: ["functions", "Functions"], s: ["server", "Server"],
};
/** How long G waits for the next key. */
const PREFIX_MS = 1500;

const isShown = signal(false);
/** Single keys can be switched off: speech input types them by mistake. */
const isOn = signal(recall("keys", true));

export function showKeys(): void {
  isShown.value = true;
}

/** Listen for keys that nothing else wants. */
export function followKeys(): void {
  let prefixMs = -Infinity;
  addEventListener("keydown", (event) => {
    if (!isOn.value || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event)) return;
    const isSecond = event.timeStamp - prefixMs < PREFIX_MS;
    prefixMs = -Infinity;
    const page = isSecond ? PAGES[event.key]?.[0] : undefined;
    if (page !== undefined) open(page);
    else if (event.key === "g") prefixMs = event.timeStamp;
    else if (event.key === "?") showKeys();
    else if (event.key === "d") toggleTheme();
    else if (event.key === "/") document.querySelector<HTMLInputElement>("main input[type=search]")?.focus();
    else return;
    event.preventDefault();
  });
}

/** Whether a key goes into a field: also one in a shadow tree. */
function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName) || target.closest("dialog") !== null);
}

export function Keys() {
  return isShown.value ? <KeyList /> : null;
}

function KeyList() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  const rows: [string, string][] = [
    ...Object.entries(PAGES).map(([key, [, name]]): [string, string] => [`g ${key}`, name]),
    ["/", "Search or filter on this page"],
    ["d", "Dark or light"],
    ["?", "This list"],
    ["← → ↑ ↓", "In the graph: along the lines, and to the neighbours; in results: from cell to cell; in charts: through time"],
    ["Ctrl-C", "In results: copy the cell"],
    ["Ctrl-Enter", "In the editor: run the selection, or the statement at the cursor; with Shift, all"],
    ["Ctrl-Space", "In the editor: complete"],
    ["Esc, Tab", "In the editor: leave the text"],
    ["F2", "On a tab of the editor: another name"],
  ];
  return (
    <dialog ref={dialog} aria-labelledby="keys" onClose={() => (isShown.value = false)}>
      <h2 id="keys">Keys</h2>
      <table class="plain">
        <tbody>{rows.map(([key, what]) => <tr key={key}><th scope="row"><kbd>{key}</kbd></th><td>{what}</td></tr>)}</tbody>
      </table>
      <div class="bar">
        <label class="check"><input type="checkbox" checked={isOn.value} onChange={(event) => remember("keys", (isOn.value = event.currentTarget.checked))} /> Single keys (g, /, d, ?)</label>
        <span class="space" />
        <button onClick={() => dialog.current!.close()} autofocus>Close</button>
      </div>
    </dialog>
  );
}
