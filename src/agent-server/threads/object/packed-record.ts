import type { ThreadRecord } from "../contract/records.ts";

/**
 * Values cross RPC as JSON text. Structured clone writes nine bytes for a number: values whose text fits into the 32
 * MiB of a message could exceed this limit.
 */
type PackedRecord = Omit<ThreadRecord, "values"> & { packed_values: string };

export function packRecord(result: unknown): unknown {
  if (hasThread(result)) return { ...result, thread: packRecord(result.thread) };
  if (!isRecord(result, "values")) return result;
  const { values, ...record } = result as ThreadRecord;
  return { ...record, packed_values: JSON.stringify(values ?? null) };
}

export function unpackRecord(result: unknown): unknown {
  if (hasThread(result)) return { ...result, thread: unpackRecord(result.thread) };
  if (!isRecord(result, "packed_values")) return result;
  const { packed_values, ...record } = result as PackedRecord;
  return { ...record, values: JSON.parse(packed_values) };
}

function hasThread(result: unknown): result is { thread: unknown } {
  return typeof result === "object" && result !== null && "ok" in result && "thread" in result;
}

function isRecord(result: unknown, field: string): result is object {
  if (typeof result !== "object" || result === null) return false;
  return "thread_id" in result && "ttl" in result && field in result;
}
