// The page that is open, in the URL's hash: #/query/CSAS_A_1?range=60.
import { signal } from "@preact/signals";

export interface Route {
  /** flow, editor, source, query, topics, connectors, log, functions or server. */
  page: string;
  /** What it is about: the name of a source, query, topic, connector or function. */
  name: string;
  options: Record<string, string>;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const [page = "", ...rest] = path.split("/");
  return { page: page || "flow", name: decoded(rest.join("/")), options: Object.fromEntries(new URLSearchParams(query)) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function formatRoute(page: string, name = "", options: Record<string, string | undefined> = {}): string {
  const given = Object.entries(options).filter((entry): entry is [string, string] => !!entry[1]);
  const query = new URLSearchParams(given).toString();
  return `#/${page}${name ? `/${encodeURIComponent(name)}` : ""}${query ? `?${query}` : ""}`;
}

export const route = signal<Route>(parseRoute(typeof location === "undefined" ? "" : location.hash));

/** Follow the URL's hash. */
export function followHash(): void {
  addEventListener("hashchange", () => (route.value = parseRoute(location.hash)));
}

/** Change options of the page that is open, without an entry in the history. */
export function setOptions(options: Record<string, string | undefined>): void {
  const { page, name, options: before } = route.value;
  history.replaceState(null, "", formatRoute(page, name, { ...before, ...options }));
  route.value = parseRoute(location.hash);
}

/** Open a page. */
export function open(page: string, name = "", options: Record<string, string | undefined> = {}): void {
  location.hash = formatRoute(page, name, options);
}
