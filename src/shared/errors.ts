import { z } from "zod";
import { isDatabaseOutage } from "./database/outage.ts";

const STATUS = {
  bad_request: 400,
  bad_destination: 400,
  unauthenticated: 401,
  quota_exceeded: 402,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  too_large: 413,
  unsupported_media_type: 415,
  invalid_request: 422,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
} as const;

type ErrorCode = keyof typeof STATUS;

/** Invalid field, in the shape of HTTPValidationError. */
const Issue = z.object({
  loc: z.array(z.union([z.string(), z.number()])),
  msg: z.string(),
  type: z.string(),
});
export type Issue = z.infer<typeof Issue>;

/** Status and headers that replace those of the code: an agent's own code chose them, or no code has the status. */
const OwnAnswer = z.object({
  status: z.int().min(400).max(599),
  headers: z.array(z.tuple([z.string(), z.string()])).refine(areHeaders),
});
type OwnAnswer = z.infer<typeof OwnAnswer>;

/** Fields of an error that arrived over RPC. An agent's code may throw errors with any fields. */
const Fields = z.object({
  issues: z.array(Issue).optional().catch(undefined),
  retry_after_seconds: z.number().nonnegative().optional().catch(undefined),
  answer: OwnAnswer.optional().catch(undefined),
  /** A code that published clients look for. */
  label: z.string().optional().catch(undefined),
});

type AppErrorOptions = z.infer<typeof Fields> & { cause?: unknown };

const OUTAGE =
  "The database of this region does not answer: send the request again after the time in Retry-After.";

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly issues: Issue[] | undefined;
  readonly retry_after_seconds: number | undefined;
  readonly answer: OwnAnswer | undefined;
  readonly label: string | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.issues = options.issues;
    this.retry_after_seconds = options.retry_after_seconds;
    this.answer = options.answer;
    this.label = options.label;
  }

  get status(): number {
    return this.answer?.status ?? STATUS[this.code];
  }

  /** Returns an error with any status, and the nearest code. */
  static answer(message: string, answer: OwnAnswer): AppError {
    const code = Object.entries(STATUS).find(([, status]) => status === answer.status)?.[0];
    const nearest = answer.status < 500 ? "forbidden" : "unavailable";
    return new AppError(isErrorCode(code) ? code : nearest, message, { answer });
  }

  /** Restores the class, which errors lose over RPC. An outage of D1 becomes `unavailable`, any other error `internal`. */
  static from(error: unknown): AppError {
    if (error instanceof AppError) return error;
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (error instanceof Error && isErrorCode(code)) {
      return new AppError(code, error.message, { ...Fields.parse(error), cause: error });
    }
    if (isDatabaseOutage(error)) {
      return new AppError("unavailable", OUTAGE, { retry_after_seconds: 5, cause: error });
    }
    return new AppError("internal", "Internal error", { cause: error });
  }
}

export function areHeaders(headers: [string, string][]): boolean {
  try {
    return new Headers(headers) !== null;
  } catch {
    return false;
  }
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(STATUS, code);
}

/** `notFound("Deployment", id)` reads "Deployment ID {id} not found." as published clients expect. */
export function notFound(noun: string, id: string): AppError {
  return new AppError("not_found", `${noun} ID ${id} not found.`);
}

/** Waits for a result that may not exist. @returns `null` for `not_found` */
export async function nullIfNotFound<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (AppError.from(error).code === "not_found") return null;
    throw error;
  }
}

/** Codes of errors in the content of one part of a request. */
const OF_CONTENT: ErrorCode[] = ["bad_request", "not_found", "too_large"];

/** Returns the reasons for which one part of a request is refused. @throws failures that concern the whole request */
export function issuesOf(error: unknown, loc: Issue["loc"]): Issue[] {
  const { code, message, issues } = AppError.from(error);
  if (issues) return issues;
  if (!OF_CONTENT.includes(code)) throw error;
  return [{ loc, msg: message, type: "value_error" }];
}

export function invalid(loc: (string | number)[], msg: string, type = "value_error"): AppError {
  return new AppError("invalid_request", `${loc.join(".")}: ${msg}`, {
    issues: [{ loc, msg, type }],
  });
}
