import { AsyncLocalStorage } from "node:async_hooks";
import type { Host } from "../contract.ts";

/** Default of LANGSMITH_API_URL for agents. The `fetch` below answers the requests to it. */
const HERE = "https://heddle.internal";
const AUTHENTICATE = "/v2/auth/authenticate";

/** Run whose code makes a call. */
type CallingRun = {
  host: Pick<Host, "authenticate">;
  /** Header of requests that the run's code makes; `null` when the caller of the run has sent none. */
  traceparent: string | null;
};

const run = new AsyncLocalStorage<CallingRun>();
const outside = globalThis.fetch;

process.env.LANGSMITH_API_URL ??= HERE;

/**
 * Passes `POST https://heddle.internal/v2/auth/authenticate` of published clients to the thread of the calling run.
 * The clients need no key, which could leak to another run. Requests to other hosts get the `traceparent` of the run's
 * caller, unless they have one.
 */
globalThis.fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
  if (!isHere(input)) return fetchOutside(input, init);
  const request = new Request(input, init);
  const host = run.getStore()?.host;
  if (new URL(request.url).pathname !== AUTHENTICATE || request.method !== "POST") {
    return refuse(404, `Agents may call POST ${AUTHENTICATE} here, and nothing else.`);
  }
  if (host === undefined) return refuse(403, "Only runs can authenticate a user.");
  const { status, body, retry_after_seconds } = await host.authenticate(await request.text());
  const headers = new Headers({ "Content-Type": "application/json" });
  if (retry_after_seconds !== null) headers.set("Retry-After", String(retry_after_seconds));
  return new Response(body, { status, headers });
};

function fetchOutside(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const traceparent = run.getStore()?.traceparent ?? null;
  if (traceparent === null) return outside(input, init);
  const request = new Request(input, init);
  if (!request.headers.has("traceparent")) request.headers.set("traceparent", traceparent);
  return outside(request);
}

/** Binds all calls of `work` to this run. */
export function asRun<T>(calling: CallingRun, work: () => T): T {
  return run.run(calling, work);
}

function isHere(input: RequestInfo | URL): boolean {
  const url = typeof input === "string" ? input : input instanceof URL ? input.href : input.url;
  return url === HERE || url.startsWith(`${HERE}/`);
}

function refuse(status: number, detail: string): Response {
  return Response.json({ detail }, { status });
}
