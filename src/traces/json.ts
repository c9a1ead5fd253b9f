export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Null for text that is no JSON object. */
export function parseObject(text: string | null): JsonObject | null {
  const value: unknown = text === null ? null : JSON.parse(text);
  return isObject(value) ? value : null;
}
