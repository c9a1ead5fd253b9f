import { type EgressPolicy, safeFetch } from "../../shared/egress/egress.ts";
import { AppError } from "../../shared/errors.ts";
import { endpointIn, regionHint, regionOf } from "./addresses.ts";
import { S3Error, type S3Problem, type S3Response, toProblem } from "./problem.ts";
import { type Adaptation, type Call, type Keys, type S3Target, sign } from "./signing.ts";
import { rootName } from "./xml.ts";

type SendOptions = {
  policy: EgressPolicy;
  signal: AbortSignal | undefined;
  attempt_ms: number;
  now(): number;
};

/** Limit of a response to a call without `max_bytes`. The longest is one page of a list of uploads. */
const MAX_ANSWER_BYTES = 4 * 1024 ** 2;
/** Room for an error in the answer to a call that expects fewer bytes. */
const MAX_ERROR_BYTES = 64 * 1024;
/** Statuses with which servers reject unknown headers. */
const HEADER_REFUSED_STATUSES = new Set([400, 411, 415, 417, 422, 501]);

/** Returns a function that sends a call once, except to adapt to the server's region and checksum support. */
export function sender(target: S3Target, options: SendOptions) {
  const keys: Keys = new Map();
  /** Endpoint, region and use of checksums that the server accepts. */
  const adaptation = {
    endpoint_url: target.endpoint_url,
    region: target.region ?? regionOf(target.endpoint_url),
    with_md5: target.checksums,
  };

  async function attempt(call: Call, how: Adaptation): Promise<S3Response> {
    const { url, init } = await sign(target, call, how, options.now(), keys);
    return exchange(options, url, init, call.max_bytes);
  }

  async function sendInRegion(call: Call, with_md5: boolean): Promise<S3Response> {
    const answer = await attempt(call, { ...adaptation, with_md5 });
    const hint = regionHint(answer);
    if (hint === null || hint === adaptation.region) return answer;
    adaptation.region = hint;
    adaptation.endpoint_url = endpointIn(adaptation.endpoint_url, hint);
    return attempt(call, { ...adaptation, with_md5 });
  }

  return async function send(call: Call): Promise<S3Response> {
    const with_md5 = adaptation.with_md5 && call.method === "PUT";
    const answer = await sendInRegion(call, with_md5);
    const problem = problemOf(call, answer);
    if (problem === null) return answer;
    if (with_md5 && !problem.is_transient && HEADER_REFUSED_STATUSES.has(problem.status)) {
      const plain = await sendInRegion(call, false);
      if (problemOf(call, plain) === null) {
        adaptation.with_md5 = false;
        return plain;
      }
    }
    throw new S3Error(hideCredentials(problem, target));
  };
}

/** Reads errors in a 200: S3 answers some POSTs before their result is known. */
function problemOf({ method }: Call, answer: S3Response): S3Problem | null {
  const isOk = answer.status >= 200 && answer.status < 300;
  if (isOk && !(method === "POST" && rootName(answer.text) === "Error")) return null;
  return toProblem(answer);
}

/** @param max_bytes expected size of a success, which is read as bytes. `undefined`: a success is read as text */
async function exchange(
  options: SendOptions,
  url: string,
  init: RequestInit,
  max_bytes: number | undefined,
): Promise<S3Response> {
  options.signal?.throwIfAborted();
  // The Content-Length of an answer to HEAD is that of the object, which may be large. The answer has no body.
  const limits = {
    timeout_ms: options.attempt_ms,
    max_bytes: limitOf(init.method, max_bytes),
    redirects: "answer" as const,
  };
  const signal = options.signal === undefined ? {} : { signal: options.signal };
  try {
    const response = await safeFetch(options.policy, url, { ...init, ...signal }, limits);
    const { status, headers } = response;
    if (max_bytes === undefined || !response.ok) {
      return { status, headers, text: await response.text() };
    }
    return { status, headers, text: "", bytes: new Uint8Array(await response.arrayBuffer()) };
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!(error instanceof AppError)) throw error;
    throw new S3Error(withoutAnswer(error), { cause: error });
  }
}

function limitOf(method: string | undefined, max_bytes: number | undefined): number {
  if (method === "HEAD") return Number.MAX_SAFE_INTEGER;
  return max_bytes === undefined ? MAX_ANSWER_BYTES : Math.max(max_bytes, MAX_ERROR_BYTES);
}

function withoutAnswer({ code, message }: AppError): S3Problem {
  const is_transient = code === "unavailable";
  const name = is_transient ? "ConnectionFailed" : "Refused";
  return { code: name, message, status: 0, is_transient, retry_after_seconds: null };
}

/**
 * Redacts credentials: a server may echo them, and errors are stored and shown. Skips short values,
 * which match ordinary words.
 */
function hideCredentials(problem: S3Problem, { credentials }: S3Target): S3Problem {
  const message = Object.values(credentials)
    .filter((value) => value.length >= 6)
    .reduce((text, value) => text.replaceAll(value, "***"), problem.message);
  return { ...problem, message };
}
