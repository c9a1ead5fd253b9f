import { WorkerEntrypoint } from "cloudflare:workers";
import { refusal } from "./addresses.ts";
import { AppError } from "./errors.ts";
import { follow, type Hop, isRedirect, toUrl } from "./hops.ts";

export type EgressPolicy = { allow_private: boolean };

export type EgressLimits = {
  /** From the first byte sent to the last byte read. */
  timeout_ms: number;
  max_bytes: number;
  max_redirects?: number;
};

const MAX_REDIRECTS = 5;

export function egressPolicy(env: { EGRESS_ALLOW_PRIVATE: string }): EgressPolicy {
  return { allow_private: env.EGRESS_ALLOW_PRIVATE === "true" };
}

/** Fetches on a user's word. Any status is an answer; what is not an answer is an AppError. */
export async function safeFetch(
  policy: EgressPolicy,
  url: string,
  init: RequestInit,
  limits: EgressLimits,
): Promise<Response> {
  const signal = AbortSignal.timeout(limits.timeout_ms);
  let hop: Hop = { url: toUrl(url), init: { ...init, headers: new Headers(init.headers) } };
  for (let redirects = 0; redirects <= (limits.max_redirects ?? MAX_REDIRECTS); redirects++) {
    const response = await fetchHop(policy, hop, signal, limits);
    const location = response.headers.get("location");
    if (!isRedirect(response.status) || location === null) {
      return limited(response, hop.url, signal, limits);
    }
    await response.body?.cancel();
    hop = follow(hop, response.status, location);
  }
  throw new AppError("unavailable", `${hop.url.host} redirected too often.`);
}

/** The only way out for an agent's isolate: the same host rules, bodies and redirects untouched. */
export class Egress extends WorkerEntrypoint<Env, { deployment_id: string }> {
  override async fetch(request: Request): Promise<Response> {
    const refused = refusal(new URL(request.url), egressPolicy(this.env).allow_private);
    if (refused !== null)
      return new Response(`Heddle refused this request: ${refused}.`, { status: 403 });
    return fetch(request, { redirect: "manual" });
  }
}

async function fetchHop(
  policy: EgressPolicy,
  hop: Hop,
  signal: AbortSignal,
  limits: EgressLimits,
): Promise<Response> {
  const refused = refusal(hop.url, policy.allow_private);
  if (refused !== null) throw new AppError("invalid_request", `${hop.url.origin}: ${refused}.`);
  try {
    return await fetch(hop.url, { ...hop.init, redirect: "manual", signal });
  } catch (error) {
    throw toAppError(error, hop.url, signal, limits);
  }
}

function limited(
  response: Response,
  url: URL,
  signal: AbortSignal,
  limits: EgressLimits,
): Response {
  const declared = Number(response.headers.get("content-length") ?? 0);
  if (declared > limits.max_bytes) throw tooLarge(url, limits);
  if (response.body === null) return response;
  const reader = response.body.getReader();
  let read = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = await reader.read().catch((error: unknown) => {
        throw toAppError(error, url, signal, limits);
      });
      if (chunk.done) return controller.close();
      read += chunk.value.byteLength;
      if (read > limits.max_bytes) {
        await reader.cancel();
        throw tooLarge(url, limits);
      }
      controller.enqueue(chunk.value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, response);
}

function tooLarge(url: URL, limits: EgressLimits): AppError {
  return new AppError(
    "too_large",
    `${url.host} sent more than the ${limits.max_bytes} bytes allowed.`,
  );
}

function toAppError(error: unknown, url: URL, signal: AbortSignal, limits: EgressLimits): AppError {
  if (error instanceof AppError) return error;
  if (signal.aborted) {
    return new AppError(
      "unavailable",
      `${url.host} did not answer within ${limits.timeout_ms} ms.`,
      {
        cause: error,
      },
    );
  }
  const text = error instanceof Error ? error.message : String(error);
  return new AppError("unavailable", `${url.host} cannot be reached: ${text}`, { cause: error });
}
