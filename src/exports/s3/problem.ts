import { parseRetryAfter } from "../../shared/work/backoff.ts";
import { readElements, readText } from "./xml.ts";

export type S3Problem = {
  /** Code of S3, or the nearest one without a response or for a response without a code. */
  code: string;
  message: string;
  /** 0 without a response. */
  status: number;
  /** Whether the same request may succeed later. */
  is_transient: boolean;
  retry_after_seconds: number | null;
};

export class S3Error extends Error {
  readonly problem: S3Problem;

  constructor(problem: S3Problem, options?: { cause?: unknown }) {
    super(`${problem.code}: ${problem.message}`, options);
    this.name = "S3Error";
    this.problem = problem;
  }
}

/** Whether S3 returned one of these codes or statuses. */
export function isS3Error(error: unknown, expected: readonly (string | number)[]): boolean {
  if (!(error instanceof S3Error)) return false;
  const { code, status } = error.problem;
  return expected.includes(code) || expected.includes(status);
}

/** Statuses of servers that do not have the call. */
export const UNSUPPORTED = [405, 501];
/** Statuses of HEAD when the credentials may not read, or the server does not support HEAD. */
export const HEAD_FORBIDDEN = [403, ...UNSUPPORTED];

/** `bytes` has the body of a successful call with `max_bytes`, and `text` is empty. Otherwise `text` has the body. */
export type S3Response = {
  status: number;
  headers: Headers;
  text: string;
  bytes?: Uint8Array<ArrayBuffer>;
};

const CODE_BY_STATUS: Record<number, string> = {
  301: "PermanentRedirect",
  307: "TemporaryRedirect",
  400: "BadRequest",
  401: "AccessDenied",
  403: "AccessDenied",
  404: "NotFound",
  405: "MethodNotAllowed",
  408: "RequestTimeout",
  409: "OperationAborted",
  411: "MissingContentLength",
  412: "PreconditionFailed",
  413: "EntityTooLarge",
  429: "TooManyRequests",
  501: "NotImplemented",
  502: "BadGateway",
  503: "ServiceUnavailable",
  504: "GatewayTimeout",
};

/** Codes that are retried with any status. BadDigest and IncompleteBody: the body was damaged in transit. */
const TRANSIENT = new Set([
  "BadDigest",
  "BandwidthLimitExceeded",
  "ConditionalRequestConflict",
  "IncompleteBody",
  "InternalError",
  "InternalFailure",
  "OperationAborted",
  "RequestLimitExceeded",
  "RequestThrottled",
  "RequestTimeout",
  "ServiceUnavailable",
  "SlowDown",
  "Throttling",
  "ThrottlingException",
  "TooManyRequests",
  "XAmzContentSHA256Mismatch",
]);

/** Codes that are never retried, whatever the status. */
const FINAL = new Set(["NotImplemented"]);

/** Messages for responses without a message. */
const DEFAULT_MESSAGES: Record<string, string> = {
  AccessDenied: "Access Denied",
  BadDigest: "The Content-MD5 you specified did not match what we received.",
  EntityTooLarge: "Your proposed upload exceeds the maximum allowed object size.",
  InternalError: "We encountered an internal error. Please try again.",
  InvalidAccessKeyId: "The AWS Access Key Id you provided does not exist in our records.",
  InvalidBucketName: "The specified bucket is not valid.",
  NoSuchBucket: "The specified bucket does not exist",
  NoSuchKey: "The specified key does not exist.",
  NoSuchUpload: "The specified multipart upload does not exist.",
  NotImplemented: "A header or operation of the request is not implemented by this server.",
  QuotaExceeded: "The quota of the bucket or its owner is used up.",
  RequestTimeTooSkewed:
    "The difference between the request time and the current time is too large.",
  SignatureDoesNotMatch:
    "The request signature we calculated does not match the signature you provided.",
  SlowDown: "Please reduce your request rate.",
  UserSuspended: "The user of these keys is suspended.",
};

const MAX_TEXT = 500;
const MAX_CODE = 100;

export function toProblem(response: S3Response): S3Problem {
  const { status, headers, text } = response;
  const error = readElements(text, "Error")[0] ?? "";
  const sent = readText(error, "Code");
  const code = sent || codeOf(response);
  const message = readText(error, "Message") || DEFAULT_MESSAGES[code] || describe(response, sent);
  return {
    code: clip(code, MAX_CODE),
    message: clip(message, MAX_TEXT),
    status,
    is_transient: sent ? isTransientCode(sent, status) : isTransientStatus(status),
    retry_after_seconds: parseRetryAfter(headers.get("retry-after"), Date.now()),
  };
}

/**
 * Returns the code for a response without one. A 400, 401, 403, 404 or 405 with a body that is not an S3 error comes from
 * another server, such as a proxy.
 */
function codeOf({ status, text }: S3Response): string {
  const isForeign = [400, 401, 403, 404, 405].includes(status) && text.trim() !== "";
  if (isForeign) return "UnexpectedAnswer";
  return CODE_BY_STATUS[status] ?? (status >= 500 ? "InternalError" : "UnexpectedAnswer");
}

/** Considers the status of unknown codes: MinIO signals overload with `SlowDownRead`, for example. */
function isTransientCode(code: string, status: number): boolean {
  if (FINAL.has(code)) return false;
  return TRANSIENT.has(code) || status === 429 || [500, 502, 503, 504].includes(status);
}

function isTransientStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || (status >= 500 && status !== 501);
}

function describe({ status, headers, text }: S3Response, code: string | null): string {
  const answered = `The server returned ${status}`;
  const location = headers.get("location");
  if (location !== null) return `${answered}, a redirect to ${location}.`;
  if (code) return `${answered} without a message.`;
  if (text.trim() === "") return `${answered} without a body.`;
  const title = /<title[^<>]*>([^<]*)/i.exec(text)?.[1]?.trim();
  const words = title || text.replace(/<[^<>]*>/g, " ").replace(/\s+/g, " ");
  return `${answered}, not as an S3 error: ${words.trim()}`;
}

function clip(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max)}…` : text;
}
