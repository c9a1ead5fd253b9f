const STATUS = {
  bad_request: 400,
  bad_destination: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  unsupported_media_type: 415,
  invalid_request: 422,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
} as const;

type ErrorCode = keyof typeof STATUS;

/** One field that is wrong, in the shape of HTTPValidationError. */
export type Issue = { loc: (string | number)[]; msg: string; type: string };

/** What an agent's own code answers with, word for word. */
type OwnAnswer = { status: number; headers: [string, string][] };

type AppErrorOptions = {
  cause?: unknown;
  issues?: Issue[];
  retry_after_seconds?: number;
  answer?: OwnAnswer;
};

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly issues: Issue[] | undefined;
  readonly retry_after_seconds: number | undefined;
  readonly answer: OwnAnswer | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.issues = options.issues;
    this.retry_after_seconds = options.retry_after_seconds;
    this.answer = options.answer;
  }

  get status(): number {
    return this.answer?.status ?? STATUS[this.code];
  }

  /** The nearest code to a status that an agent's code has chosen. */
  static answer(message: string, answer: OwnAnswer): AppError {
    const code = Object.entries(STATUS).find(([, status]) => status === answer.status)?.[0];
    const nearest = answer.status < 500 ? "forbidden" : "unavailable";
    return new AppError(isErrorCode(code) ? code : nearest, message, { answer });
  }

  /** Restores what RPC took away: an error thrown in an object keeps its code and loses its class. */
  static from(error: unknown): AppError {
    if (error instanceof AppError) return error;
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (error instanceof Error && isErrorCode(code)) {
      return new AppError(code, error.message, { cause: error });
    }
    return new AppError("internal", "Internal error", { cause: error });
  }
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(STATUS, code);
}

/** `notFound("Deployment", id)` reads "Deployment ID {id} not found." as published clients expect. */
export function notFound(noun: string, id: string): AppError {
  return new AppError("not_found", `${noun} ID ${id} not found.`);
}

export function invalid(loc: (string | number)[], msg: string, type = "value_error"): AppError {
  return new AppError("invalid_request", `${loc.join(".")}: ${msg}`, {
    issues: [{ loc, msg, type }],
  });
}
