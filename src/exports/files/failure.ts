import { AppError } from "../../shared/errors.ts";
import { S3Error } from "../s3/problem.ts";

export type FileFailure = {
  text: string;
  is_transient: boolean;
  retry_after_seconds: number | null;
};

/** Codes of errors that a retry would meet again. */
const PERMANENT: readonly string[] = ["not_found", "forbidden", "invalid_request", "bad_request"];
/** Another client or a bucket rule aborted the upload: the next attempt opens a new one. */
const ABORTED = "NoSuchUpload";

export function toFailure(error: unknown): FileFailure {
  if (error instanceof S3Error) {
    const { code, message, retry_after_seconds } = error.problem;
    const is_transient = error.problem.is_transient || code === ABORTED;
    return { text: `${code}: ${message}`, is_transient, retry_after_seconds };
  }
  const failure = AppError.from(error);
  const retry_after_seconds = failure.retry_after_seconds ?? null;
  const is_transient = !PERMANENT.includes(failure.code);
  return { text: failure.message, is_transient, retry_after_seconds };
}
