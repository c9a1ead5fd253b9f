import { isRecord } from "../shared/guards.ts";
export type JsonObject = Record<string, unknown>;

/** Returns `null` when the text is not a JSON object. */
export function parseObject(text: string | null): JsonObject | null {
  const value: unknown = text === null ? null : JSON.parse(text);
  return isRecord(value) ? value : null;
}
