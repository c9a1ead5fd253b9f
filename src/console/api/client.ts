import { ApiError, readFailure, UnreachableError } from "./errors.ts";
import { type ApiPath, apiPath, assertRead, assertSamePath, SESSION } from "./path.ts";

const AGENTS = "/agents/";

type QueryValue = string | number | boolean | null | undefined;
/** A list repeats its parameter. */
type Query = Record<string, QueryValue | readonly string[]>;

export type CallOptions = {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Id of the workspace; none for calls that concern the session. */
  workspace?: string | undefined;
};

/** Called for each call that the service refuses with 401, because the session has ended. */
let onSignedOut = () => {};
export function setSignedOutHandler(handler: () => void): void {
  onSignedOut = handler;
}

/**
 * Calls the API of this origin with the session.
 * @template T the type of the feature's schema, which is not checked
 * @returns the parsed JSON or the text, `undefined` for a response without a body
 */
export async function call<T>(path: ApiPath, options: CallOptions = {}): Promise<T> {
  const response = await send(path, options);
  if (response.status === 204 || response.headers.get("Content-Length") === "0") {
    return undefined as T;
  }
  const isJson = response.headers.get("Content-Type")?.includes("json");
  return (isJson ? await response.json() : await response.text()) as T;
}

/**
 * @returns the response, whose body may be a stream
 * @throws ApiError for a status other than 2xx, UnreachableError without a response
 */
export async function send(path: ApiPath, options: CallOptions = {}): Promise<Response> {
  const url = withQuery(path, options.query);
  assertSamePath(url, path, location.origin);
  const response = await fetch(url, toInit(path, options)).catch((cause: unknown) => {
    if (options.signal?.aborted) throw cause;
    throw new UnreachableError(path, cause);
  });
  if (response.ok) return response;
  const error = new ApiError(path, response, await readFailure(response));
  if (error.status !== 401) throw error;
  // An agent's own authentication may refuse a valid session. Only a 401 of `/v1/me` shows that the session has ended.
  if (path.startsWith(AGENTS)) await call(apiPath`/v1/me`);
  else if (path !== SESSION) onSignedOut();
  throw error;
}

/** Reads with a body, as the searches do. @throws Error for a path that may change something */
export function readWith<T>(
  path: ApiPath,
  body: unknown,
  options: Omit<CallOptions, "method" | "body">,
): Promise<T> {
  assertRead(path);
  return call<T>(path, { ...options, method: "POST", body });
}

function toInit(path: ApiPath, options: CallOptions): RequestInit {
  const { method = "GET", body, headers, signal, workspace } = options;
  return {
    method,
    credentials: "same-origin",
    headers: {
      "X-Heddle-Console": "1",
      ...(workspace && { "X-Tenant-Id": workspace }),
      // An agent that authenticates its own users accepts the workspace's session as Studio's user.
      ...(path.startsWith(AGENTS) && { "X-Auth-Scheme": "langsmith" }),
      ...(body !== undefined && { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  };
}

/** Returns the path with the parameters that have a value. */
export function withQuery(path: string, query: Query = {}): string {
  const entries = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((each) => each !== undefined && each !== null)
      .map((each) => [name, String(each)]),
  );
  if (entries.length === 0) return path;
  const text = new URLSearchParams(entries);
  return `${path}?${text}`;
}
