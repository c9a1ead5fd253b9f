import { ApiError } from "./errors.ts";

export function isNotFound(error: Error | null): boolean {
  return error instanceof ApiError && error.status === 404;
}
