export type Fields = Record<string, unknown>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the JSON of a value, and the word `undefined` for a value that has no JSON. */
export function toJson(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent) ?? "undefined";
}

/** @returns the value of a JSON text, or the text itself */
export function parseOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** @returns the fields of `after` that differ from `before`, or `after` itself unless both are objects */
export function changedFields(before: unknown, after: unknown): unknown {
  if (!isFields(before) || !isFields(after)) return after;
  const changed = Object.entries(after).filter(([key, value]) => {
    return !Object.hasOwn(before, key) || toJson(before[key]) !== toJson(value);
  });
  return Object.fromEntries(changed);
}

export type ParsedText<T> = { value: T } | { problem: string };

export function parseJson(text: string): ParsedText<unknown> {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { problem: `Not JSON: ${(error as Error).message}. Put text in double quotes.` };
  }
}

/** Parses a text that must be a JSON object. */
export function parseFields(text: string): ParsedText<Fields> {
  const parsed = parseJson(text);
  if ("problem" in parsed) return parsed;
  const { value } = parsed;
  return isFields(value) ? { value } : { problem: "Not an object: put the value in { }." };
}
