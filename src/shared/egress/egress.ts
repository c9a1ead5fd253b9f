import { AppError, invalid } from "../errors.ts";
import { withTimeout } from "../work/timeout.ts";
import { type EgressPolicy, isAddress, refusal } from "./addresses.ts";
import { follow, type Hop, isRedirect, toUrl } from "./hops.ts";
import { refusalOfName } from "./resolver.ts";

export type { EgressPolicy };

/** Parts of Heddle that fetch URLs of users. `agent-egress.ts` has the rules for agents. */
export type EgressPurpose = "builds" | "exports" | "webhooks" | "oauth";

type EgressLimits = {
  /** Time of all redirects and of the body, from the call to the last byte that is read. */
  timeout_ms: number;
  max_bytes: number;
  /** Time for which a body may arrive at any rate. Afterwards its average must be 16 KB a second. */
  grace_ms?: number;
  /** `"answer"` returns redirects: signed requests are valid for one host. */
  redirects?: "follow" | "answer";
};

const MAX_REDIRECTS = 5;
const GRACE_MS = 10_000;
const LEAST_BYTES_PER_MS = 16;

const SWITCHES = {
  builds: "EGRESS_PRIVATE_BUILDS",
  exports: "EGRESS_PRIVATE_EXPORTS",
  webhooks: "EGRESS_PRIVATE_WEBHOOKS",
  oauth: "EGRESS_PRIVATE_OAUTH",
} as const satisfies Record<EgressPurpose, string>;

/** Not `Env`: the types of Node's programs, which know no Worker, include this file. */
type Variables = Record<(typeof SWITCHES)[EgressPurpose], string> & Resolver & Ports;
type Resolver = { EGRESS_DNS_URL: string };
type Ports = { LOCAL_PORTS: string };

export function egressPolicy(env: Variables, purpose: EgressPurpose): EgressPolicy {
  const allow_private = env[SWITCHES[purpose]] === "true";
  return { ...publicPolicy(env), allow_private, own_ports: ownPorts(env) };
}

/** The policy that reaches public hosts only, independent of the switches. */
export function publicPolicy({ EGRESS_DNS_URL }: Resolver): EgressPolicy {
  return { allow_private: false, ...(EGRESS_DNS_URL === "" ? {} : { dns_url: EGRESS_DNS_URL }) };
}

/** The ports of this machine on which the Worker and its runtime listen; none on Cloudflare. */
export function ownPorts({ LOCAL_PORTS }: Ports): number[] {
  return LOCAL_PORTS.split(",").filter(Boolean).map(Number);
}

/** Refuses a URL when it is stored, with the name of its field. Does not resolve names, which each fetch does. */
export function assertReachable(
  env: Variables,
  purpose: EgressPurpose,
  urls: Record<string, string | null | undefined>,
  loc: string[] = ["body"],
): void {
  for (const [field, url] of Object.entries(urls)) {
    if (url === null || url === undefined) continue;
    const refused = refusal(toUrl(url), egressPolicy(env, purpose));
    if (refused !== null) throw invalid([...loc, field], refused);
  }
}

/** Returns the reason for which the policy refuses the URL, its host or an address of its host. `null` allows it. */
export async function egressRefusal(policy: EgressPolicy, url: URL): Promise<string | null> {
  const { allow_private, dns_url = "" } = policy;
  const refused = refusal(url, policy);
  if (refused !== null || allow_private || dns_url === "" || isAddress(url.hostname))
    return refused;
  return refusalOfName(dns_url, url.hostname);
}

/**
 * Fetches a URL of a user. Returns a response of any status.
 * @throws AppError for a refused URL, without a response, and for a response that is too large. Reads of the body throw
 * AppError too
 */
export async function safeFetch(
  policy: EgressPolicy,
  url: string,
  init: RequestInit,
  limits: EgressLimits,
): Promise<Response> {
  const signal = AbortSignal.timeout(limits.timeout_ms);
  let hop: Hop = { url: toUrl(url), init: { ...init, headers: new Headers(init.headers) } };
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const response = await fetchHop(policy, hop, signal, limits);
    const location = response.headers.get("location");
    const isAnswer = limits.redirects === "answer" || !isRedirect(response.status);
    if (isAnswer || location === null) {
      return limitBody(response, hop.url, signal, limits);
    }
    await response.body?.cancel();
    hop = follow(hop, response.status, location);
  }
  throw new AppError("unavailable", `${hop.url.host} redirected more often than is allowed.`);
}

async function fetchHop(
  policy: EgressPolicy,
  hop: Hop,
  signal: AbortSignal,
  limits: EgressLimits,
): Promise<Response> {
  const refused = await egressRefusal(policy, hop.url);
  if (refused !== null) throw new AppError("invalid_request", `${hop.url.origin}: ${refused}.`);
  try {
    const either = hop.init.signal ? AbortSignal.any([signal, hop.init.signal]) : signal;
    return await fetch(hop.url, { ...hop.init, redirect: "manual", signal: either });
  } catch (error) {
    throw toAppError(error, hop.url, signal, limits);
  }
}

function limitBody(
  response: Response,
  url: URL,
  signal: AbortSignal,
  limits: EgressLimits,
): Response {
  if (response.body === null) return response;
  const declared = Number(response.headers.get("content-length") ?? 0);
  if (declared > limits.max_bytes) {
    void response.body.cancel().catch(() => {});
    throw tooLarge(url, limits);
  }
  const reader = response.body.getReader();
  const { grace_ms = GRACE_MS } = limits;
  let read = 0;
  let waited_ms = 0;
  // Only the time of reads counts, without that in which the caller processes a chunk.
  const readChunk = async () => {
    const started = Date.now();
    const left_ms = Math.max(grace_ms, read / LEAST_BYTES_PER_MS) - waited_ms;
    const chunk = await withTimeout(reader.read(), left_ms, () => {
      throw tooSlow(url);
    });
    waited_ms += Date.now() - started;
    return chunk;
  };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = await readChunk().catch(async (error: unknown) => {
        await reader.cancel().catch(() => undefined);
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

function tooSlow(url: URL): AppError {
  const rate = `${LEAST_BYTES_PER_MS} KB a second`;
  return new AppError("unavailable", `${url.host} sent its response at less than ${rate}.`);
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
