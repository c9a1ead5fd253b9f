import type { EgressPolicy } from "../../shared/egress/egress.ts";
import { isProblem, S3Error, type S3Problem, UNTOLD } from "./problem.ts";
import { type RetryLimits, withRetries } from "./retries.ts";
import { sender } from "./send.ts";
import type { Call, S3Target } from "./signing.ts";
import {
  type Expected,
  isUploaded,
  type Part,
  readObject,
  readUploads,
  type StoredObject,
  toCompleteXml,
  toTag,
  type Upload,
} from "./uploads.ts";
import { readText } from "./xml.ts";

export type S3Client = ReturnType<typeof s3Client>;

export type S3Options = {
  policy: EgressPolicy;
  /** What it was aborted with is thrown, from a request under way and from a pause. */
  signal?: AbortSignal;
  onRetry?(problem: S3Problem): void;
  limits?: Partial<RetryLimits & { attempt_ms: number }>;
  now?(): number;
};

type Headers = Record<string, string>;

/** How calls get to the server: one attempt, and whatever is tried again. */
type Line = {
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
/** Answers to the completion of an upload that is complete. Ceph's is the second, and it stays. */
const GONE = ["NoSuchUpload", "InternalError"];
/** S3 gives 1000 uploads a page; a bucket with more unfinished ones than this is swept in turns. */
const MAX_PAGES = 20;

/** One bucket with one set of keys. Failures are S3Errors; only transient ones were tried again. */
export function s3Client(target: S3Target, options: S3Options) {
  const { policy, signal, onRetry, now = Date.now } = options;
  const { attempt_ms, ...limits } = { ...LIMITS, ...options.limits };
  const line: Line = {
    once: sender(target, { policy, signal, attempt_ms, now }),
    retry: (run) => withRetries({ limits, onRetry }, signal, run),
    put_headers: target.put_headers,
  };
  return { ...objectCalls(line), ...uploadCalls(line) };
}

function objectCalls(line: Line) {
  return {
    headObject: (key: string) => headObject(line, key),

    async putObject(key: string, body: Uint8Array, headers?: Headers) {
      const all = { ...line.put_headers, ...headers };
      const answer = await send(line, { method: "PUT", key, body, headers: all });
      return { etag: toTag(answer.headers.get("etag")) };
    },

    async deleteObject(key: string): Promise<void> {
      await unless(["NoSuchKey"], () => send(line, { method: "DELETE", key }));
    },
  };
}

function uploadCalls(line: Line) {
  return {
    async createUpload(key: string, headers?: Headers) {
      const all = { ...line.put_headers, ...headers };
      const call: Call = { method: "POST", key, query: { uploads: "" }, headers: all };
      const answer = await send(line, call);
      return { upload_id: answered(readText(answer.text, "UploadId"), "UploadId", answer.status) };
    },

    async uploadPart(key: string, upload_id: string, number: number, body: Uint8Array) {
      const query = { partNumber: String(number), uploadId: upload_id };
      const answer = await send(line, { method: "PUT", key, query, body });
      return { etag: answered(answer.headers.get("etag"), "ETag", answer.status) };
    },

    /** `expected` tells the object apart when the answer was lost and the upload is gone. */
    completeUpload: (key: string, upload_id: string, parts: Part[], expected?: Expected) =>
      completeUpload(line, { key, upload_id, parts, expected }),

    async abortUpload(key: string, upload_id: string): Promise<void> {
      const call: Call = { method: "DELETE", key, query: { uploadId: upload_id } };
      await unless(["NoSuchUpload", 404], () => send(line, call));
    },

    listUploads: (prefix: string) => listUploads(line, prefix),
  };
}

async function headObject(line: Line, key: string): Promise<StoredObject | null> {
  const answer = await unless([404], () => send(line, { method: "HEAD", key }));
  return answer === null ? null : readObject(answer.headers);
}

type Completion = {
  key: string;
  upload_id: string;
  parts: Part[];
  expected: Expected | undefined;
};

async function completeUpload(line: Line, completion: Completion) {
  const { key, upload_id, parts } = completion;
  const body = new TextEncoder().encode(toCompleteXml(parts));
  const call: Call = { method: "POST", key, query: { uploadId: upload_id }, body };
  return line.retry(async (attempt) => {
    try {
      const { text } = await line.once(call);
      return { etag: toTag(readText(text, "ETag")) };
    } catch (error) {
      const isRepeated = attempt > 1 && isProblem(error, GONE);
      const object = isRepeated ? await findUploaded(line, completion) : null;
      if (object === null) throw error;
      return { etag: object.etag };
    }
  });
}

/** What an earlier attempt made, if its answer alone was lost. Keys that may not look cannot tell. */
async function findUploaded(line: Line, { key, parts, expected }: Completion) {
  const object = await unless(UNTOLD, () => headObject(line, key));
  return object !== null && isUploaded(object, parts, expected) ? object : null;
}

async function listUploads(line: Line, prefix: string): Promise<Upload[]> {
  const found: Upload[] = [];
  let after: Record<string, string> = {};
  for (let page = 0; page < MAX_PAGES; page++) {
    const query = { uploads: "", prefix, ...after };
    const { text } = await send(line, { method: "GET", key: "", query });
    found.push(...readUploads(text));
    if (readText(text, "IsTruncated") !== "true") break;
    after = {
      "key-marker": readText(text, "NextKeyMarker") ?? "",
      "upload-id-marker": readText(text, "NextUploadIdMarker") ?? "",
    };
  }
  return found;
}

function send(line: Line, call: Call) {
  return line.retry(() => line.once(call));
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
  throw new S3Error({
    code: "UnexpectedAnswer",
    message: `The response of the server has no ${name}.`,
    status,
    is_transient: false,
    retry_after_seconds: null,
  });
}
