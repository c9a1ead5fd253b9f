import type { EgressPolicy } from "../../shared/egress/egress.ts";
import { isS3Error, type S3Problem } from "./problem.ts";
import { type RetryLimits, withRetries } from "./retries.ts";
import { sender } from "./send.ts";
import type { BodyDigests, Call, S3Target } from "./signing.ts";
import {
  type Headers,
  headObject,
  putHeaders,
  send,
  type Transport,
  unexpected,
  unless,
} from "./transport.ts";
import { uploadCalls } from "./upload-calls.ts";
import { quoteEtag } from "./uploads.ts";

export type S3Client = ReturnType<typeof s3Client>;

export type S3Options = {
  policy: EgressPolicy;
  /** Aborts requests and pauses with its reason. */
  signal?: AbortSignal;
  onRetry?(problem: S3Problem): void;
  limits?: Partial<RetryLimits & { attempt_ms: number }>;
  now?(): number;
};

const LIMITS = {
  attempts: 6,
  base_ms: 200,
  max_delay_ms: 10_000,
  total_ms: 180_000,
  attempt_ms: 60_000,
};
const EXISTS = ["PreconditionFailed", 412];
/** Statuses of servers that do not support conditional writes. */
const NO_CONDITIONS = [400, 501];

/** Returns the client of one bucket. Its calls retry transient errors. They throw S3Error for errors of the server. */
export function s3Client(target: S3Target, options: S3Options) {
  const { policy, signal, onRetry, now = Date.now } = options;
  const { attempt_ms, ...limits } = { ...LIMITS, ...options.limits };
  const transport: Transport = {
    once: sender(target, { policy, signal, attempt_ms, now }),
    retry: (run) => withRetries({ limits, onRetry }, signal, run),
    put_headers: target.put_headers,
  };
  return { ...objectCalls(transport), ...uploadCalls(transport) };
}

function objectCalls(transport: Transport) {
  return {
    headObject: (key: string) => headObject(transport, key),

    /** Reads bytes of an object, from start to before end. Fails when `etag` is not `null` and the object has another. */
    async getRange(key: string, etag: string | null, [start, end]: [number, number]) {
      const headers = {
        Range: `bytes=${start}-${end - 1}`,
        ...(etag === null ? {} : { "If-Match": etag }),
      };
      const call: Call = { method: "GET", key, headers, max_bytes: end - start };
      const { status, bytes } = await send(transport, call);
      if (bytes?.length === end - start) return bytes;
      throw unexpected("The server returned other bytes than the range of the request.", status);
    },

    async putObject(key: string, body: Uint8Array, headers?: Headers, digests: BodyDigests = {}) {
      const all = putHeaders(transport, headers);
      const answer = await send(transport, { method: "PUT", key, body, headers: all, digests });
      return { etag: quoteEtag(answer.headers.get("etag")) };
    },

    /** Writes an object unless one exists. Servers without conditional writes overwrite it. */
    putNewObject: (key: string, body: Uint8Array, headers: Headers) =>
      putNewObject(transport, key, body, headers),

    async deleteObject(key: string): Promise<void> {
      await unless(["NoSuchKey"], () => send(transport, { method: "DELETE", key }));
    },
  };
}

async function putNewObject(
  transport: Transport,
  key: string,
  body: Uint8Array,
  headers: Headers,
): Promise<"written" | "exists"> {
  const call: Call = {
    method: "PUT",
    key,
    body,
    headers: putHeaders(transport, headers),
  };
  const condition = { ...call.headers, "If-None-Match": "*" };
  try {
    await send(transport, { ...call, headers: condition });
    return "written";
  } catch (error) {
    if (isS3Error(error, EXISTS)) return "exists";
    if (!isS3Error(error, NO_CONDITIONS)) throw error;
    await send(transport, call);
    return "written";
  }
}
