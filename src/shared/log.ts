type Fields = Record<string, string | number | boolean | null | undefined>;

/** Prefix of drizzle's messages. */
const FAILED_QUERY = "Failed query: ";

/** Prints one JSON object per line. Callers pass no secrets and no bodies. No other code of the Worker prints. */
export const log = {
  info: (event: string, fields: Fields = {}) => print("info", event, fields),
  warn: (event: string, fields: Fields = {}) => print("warn", event, fields),
  error: (event: string, error: unknown, fields: Fields = {}) =>
    print("error", event, { ...fields, error: describe(error) }),
};

function print(level: "info" | "warn" | "error", event: string, fields: Fields) {
  console[level](JSON.stringify({ level, event, ...fields }));
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : ` <- ${describe(error.cause)}`;
  return `${textOfError(error)}${cause}`;
}

/**
 * Returns the stack of an error, or the message of a failed query without the parameters at its end: they may be bodies or
 * hashes of keys. Checks the message, because the error loses its class over RPC.
 */
export function textOfError({ message, stack = message }: Omit<Error, "name">): string {
  return message.startsWith(FAILED_QUERY) ? message.replace(/\nparams: .*/s, "") : stack;
}
