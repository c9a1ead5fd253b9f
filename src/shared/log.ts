type Fields = Record<string, string | number | boolean | null | undefined>;

/** Prefix of drizzle's messages. */
const FAILED_QUERY = "Failed query: ";

/** Prints one JSON object per line, without secrets and bodies. No other code of the Worker prints. */
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

/** The message of a failed query ends with its parameters: bodies, hashes of keys. Over RPC it loses its class. */
export function textOfError({ message, stack = message }: Omit<Error, "name">): string {
  return message.startsWith(FAILED_QUERY) ? message.replace(/\nparams: .*/s, "") : stack;
}
