import type { EgressPolicy } from "../../shared/egress/egress.ts";
import { HEAD_FORBIDDEN, isProblem, S3Error, type S3Problem } from "./problem.ts";
import { type RetryLimits, withRetries } from "./retries.ts";
import { sender } from "./send.ts";
import type { Call, S3Target } from "./signing.ts";
import {
  type Expected,
  isUploaded,
  type MultipartUpload,
  readObject,
  readUploads,
  type StoredObject,
  toCompleteXml,
  toTag,
  type UploadPart,
} from "./uploads.ts";
import { readText } from "./xml.ts";

export type S3Client = ReturnType<typeof s3Client>;

export type S3Options = {
  policy: EgressPolicy;
  /** Aborts requests and pauses with its reason. */
  signal?: AbortSignal;
  onRetry?(problem: S3Problem): void;
  limits?: Partial<RetryLimits & { attempt_ms: number }>;
  now?(): number;
};

type Headers = Record<string, string>;

type Transport = {
  once: ReturnType<typeof sender>;
  retry<T>(run: (attempt: number) => Promise<T>): Promise<T>;
  put_headers: Headers;
};

const LIMITS = {
  attempts: 6,
  base_ms: 200,
  max_delay_ms: 10_000,
  total_ms: 180_000,
  attempt_ms: 60_000,
};
/**
 * Codes when completing a completed upload. Ceph returns the second, and keeps the upload listed.
 */
const GONE = ["NoSuchUpload", "InternalError"];
/** S3 lists 1000 uploads a page; later sweeps continue. */
const MAX_PAGES = 20;

/** Client of one bucket. Throws S3Error after retries of transient errors. */
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

    /** Reads bytes of an object. Fails when the object is no longer the one with this ETag. */
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

    async putObject(key: string, body: Uint8Array, headers?: Headers) {
      const all = { ...transport.put_headers, ...headers };
      const answer = await send(transport, { method: "PUT", key, body, headers: all });
      return { etag: toTag(answer.headers.get("etag")) };
    },

    async deleteObject(key: string): Promise<void> {
      await unless(["NoSuchKey"], () => send(transport, { method: "DELETE", key }));
    },
  };
}

function uploadCalls(transport: Transport) {
  return {
    async createUpload(key: string, headers?: Headers) {
      const all = { ...transport.put_headers, ...headers };
      const call: Call = { method: "POST", key, query: { uploads: "" }, headers: all };
      const answer = await send(transport, call);
      return { upload_id: answered(readText(answer.text, "UploadId"), "UploadId", answer.status) };
    },

    async uploadPart(key: string, upload_id: string, number: number, body: Uint8Array) {
      const query = { partNumber: String(number), uploadId: upload_id };
      const answer = await send(transport, { method: "PUT", key, query, body });
      return { etag: answered(answer.headers.get("etag"), "ETag", answer.status) };
    },

    /** `expected` identifies the object when the response was lost and the upload is gone. */
    completeUpload: (key: string, upload_id: string, parts: UploadPart[], expected?: Expected) =>
      completeUpload(transport, { key, upload_id, parts, expected }),

    async abortUpload(key: string, upload_id: string): Promise<void> {
      const call: Call = { method: "DELETE", key, query: { uploadId: upload_id } };
      await unless(["NoSuchUpload", 404], () => send(transport, call));
    },

    listUploads: (prefix: string) => listUploads(transport, prefix),
  };
}

async function headObject(transport: Transport, key: string): Promise<StoredObject | null> {
  const answer = await unless([404], () => send(transport, { method: "HEAD", key }));
  return answer === null ? null : readObject(answer.headers);
}

type Completion = {
  key: string;
  upload_id: string;
  parts: UploadPart[];
  expected: Expected | undefined;
};

async function completeUpload(transport: Transport, completion: Completion) {
  const { key, upload_id, parts } = completion;
  const body = new TextEncoder().encode(toCompleteXml(parts));
  const call: Call = { method: "POST", key, query: { uploadId: upload_id }, body };
  return transport.retry(async (attempt) => {
    try {
      const { text } = await transport.once(call);
      return { etag: toTag(readText(text, "ETag")) };
    } catch (error) {
      const isRepeated = attempt > 1 && isProblem(error, GONE);
      const object = isRepeated ? await findUploaded(transport, completion) : null;
      if (object === null) throw error;
      return { etag: object.etag };
    }
  });
}

/** Finds the object of an attempt whose response was lost, if the credentials allow HEAD. */
async function findUploaded(transport: Transport, { key, parts, expected }: Completion) {
  const object = await unless(HEAD_FORBIDDEN, () => headObject(transport, key));
  return object !== null && isUploaded(object, parts, expected) ? object : null;
}

async function listUploads(transport: Transport, prefix: string): Promise<MultipartUpload[]> {
  const found: MultipartUpload[] = [];
  let after: Record<string, string> = {};
  for (let page = 0; page < MAX_PAGES; page++) {
    const query = { uploads: "", prefix, ...after };
    const { text } = await send(transport, { method: "GET", key: "", query });
    found.push(...readUploads(text));
    if (readText(text, "IsTruncated") !== "true") break;
    after = {
      "key-marker": readText(text, "NextKeyMarker") ?? "",
      "upload-id-marker": readText(text, "NextUploadIdMarker") ?? "",
    };
  }
  return found;
}

function send(transport: Transport, call: Call) {
  return transport.retry(() => transport.once(call));
}

async function unless<T>(expected: (string | number)[], run: () => Promise<T>): Promise<T | null> {
  try {
    return await run();
  } catch (error) {
    if (isProblem(error, expected)) return null;
    throw error;
  }
}

function answered(value: string | null, name: string, status: number): string {
  if (value) return value;
  throw unexpected(`The response of the server has no ${name}.`, status);
}

function unexpected(message: string, status: number): S3Error {
  const problem = { is_transient: false, retry_after_seconds: null };
  return new S3Error({ code: "UnexpectedAnswer", message, status, ...problem });
}
