export type Fields = Record<string, unknown>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** JSON of a value that an agent chose; `undefined` has none. */
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
