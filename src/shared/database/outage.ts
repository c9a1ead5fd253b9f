/** Errors of D1 itself, and of the connection to it. */
const OUTAGE = /^D1_ERROR|\bD1 DB\b|Network connection lost/;
/** Errors of a statement: the same statement fails again. */
const STATEMENT = /SQLITE_(?!BUSY|LOCKED|IOERR|NOMEM|INTERRUPT)|bindings|not supported/;

/** Error when D1 did not carry out a statement, or its answer was lost. */
export class DatabaseOutageError extends Error {}

/** Returns the error of a failed call of D1, as an outage unless the statement itself is invalid. */
export function toDatabaseError(error: unknown): unknown {
  if (!(error instanceof Error) || !OUTAGE.test(error.message)) return error;
  if (STATEMENT.test(error.message)) return error;
  return new DatabaseOutageError(error.message, { cause: error });
}

/** Whether an error or one of its causes is an outage: drizzle wraps the errors of D1. */
export function isDatabaseOutage(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause)
    if (at instanceof DatabaseOutageError) return true;
  return false;
}
