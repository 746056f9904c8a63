// Requests to the server's REST API, with the credentials of this browser tab.
import { signal } from "@preact/signals";
import type { Statement } from "../sql/statements.ts";
import type { Entity, ErrorBody, SplitStatement } from "./types.ts";

const KEY = "ksql-spark.authorization";
/** The error of a server that is still starting. */
const NOT_READY = 50302;
/** A server that does not answer within this time is gone, although its port is there. */
const LONGEST_MS = 20_000;

/** The header Authorization; null: none is needed, or nobody has logged in yet. */
export const authorization = signal<string | null>(sessionStorage.getItem(KEY));
/** The server wants credentials; with why those that were sent are not enough. */
export const loginWanted = signal<string | null>(null);
/** Why the server does not answer; null: it does. */
export const serverGone = signal<string | null>(null);
/** Whether it does not answer yet, because it is still starting. */
export const isStarting = signal(false);

export function logIn(header: string): void {
  sessionStorage.setItem(KEY, header);
  authorization.value = header;
  loginWanted.value = null;
}

export function logOut(): void {
  sessionStorage.removeItem(KEY);
  authorization.value = null;
  loginWanted.value = "You have logged out.";
}

/** An answer of the server that is an error. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly body: ErrorBody,
  ) {
    super(body.message);
  }
}

/** Send a request; raise an ApiError for an error of the server, and another one if there is no answer. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const sent = authorization.value;
  if (sent && !headers.has("Authorization")) headers.set("Authorization", sent);
  let response: Response;
  try {
    // without the browser's own credentials: else it would ask for a password itself
    response = await fetch(path, { ...init, headers, credentials: "omit", cache: "no-store" });
  } catch (error) {
    if (init.signal?.aborted && init.signal.reason?.name !== "TimeoutError") throw error;
    isStarting.value = false;
    serverGone.value = "The server does not answer.";
    throw error;
  }
  if (response.ok) {
    isStarting.value = false;
    serverGone.value = null;
    return response;
  }
  const body = await errorBody(response);
  isStarting.value = body.error_code === NOT_READY;
  if (response.status === 401) {
    // an answer to what was sent before the user logged in says nothing of who that is
    if (sent === authorization.value) loginWanted.value = body.message;
  } else if (response.status === 503) serverGone.value = body.message;
  else serverGone.value = null;
  throw new ApiError(response.status, body);
}

async function errorBody(response: Response): Promise<ErrorBody> {
  const text = await response.text();
  try {
    return JSON.parse(text) as ErrorBody;
  } catch {
    return { error_code: response.status * 100, message: text || response.statusText };
  }
}

export async function get<T>(path: string): Promise<T> {
  return (await (await send(path, { signal: AbortSignal.timeout(LONGEST_MS) })).json()) as T;
}

/** Send JSON; the answer's JSON, if it has any. */
export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const response = await send(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal: signal ?? null,
  });
  const text = await response.text();
  return (text === "" ? null : JSON.parse(text)) as T;
}

/** Run statements; one entity for each that answers. */
export async function run(
  ksql: string,
  streamsProperties: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<Entity[]> {
  return post("ksql", { ksql, streamsProperties }, signal);
}

/** The statements of a text, in their order. */
export async function split(ksql: string): Promise<Statement[]> {
  const { statements } = await post<{ statements: SplitStatement[] }>("ksql/split", { ksql });
  return statements.map((one) => ({ ...one, text: ksql.slice(one.start, one.end) }));
}
