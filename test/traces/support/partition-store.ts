import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { traceRow } from "../../../bench/rows.ts";
import { toIso } from "../../../src/shared/times.ts";
import { toIncoming } from "../../../src/traces/ingest/incoming.ts";
import type { TracePartition } from "../../../src/traces/object/object.ts";
import { unpackTexts } from "../../../src/traces/rows/packed-texts.ts";
import { EVERY_RUN } from "../../../src/traces/rows/run-source.ts";
import type { RunView, TextName } from "../../../src/traces/rows/run-view.ts";
import { TextPacker } from "../../../src/traces/rows/text-packer.ts";
import type { PartitionStore } from "../../../src/traces/storage/partition.ts";

type Work<T> = (storage: DurableObjectStorage) => T;

/** Runs on the storage of a new object. */
export function onStorage<T>(work: Work<T | Promise<T>>): Promise<T> {
  const stub = env.PARTITIONS.getByName(crypto.randomUUID());
  return runInDurableObject(stub as DurableObjectStub<TracePartition>, (_, { storage }) =>
    work(storage),
  );
}

/** Run of a traced agent as an SDK sends it, about 2 KB. */
export function wire(index: number): Record<string, unknown> {
  const { start_us, end_us, inputs, outputs, extra, events, tags, ...row } = traceRow(index);
  return {
    ...{ id: row.id, trace_id: row.trace_id, parent_run_id: row.parent_run_id, name: row.name },
    ...{ run_type: row.run_type, dotted_order: row.dotted_order, error: row.error },
    ...{ start_time: toIso(start_us), end_time: toIso(end_us), tags: JSON.parse(tags) },
    ...{ inputs: JSON.parse(inputs), outputs: outputs === null ? null : JSON.parse(outputs) },
    ...{ extra: JSON.parse(extra), events: JSON.parse(events) },
  };
}

export const post = (run: Record<string, unknown>) => toIncoming(run, "post", []);
export const patch = (run: Record<string, unknown>) => toIncoming(run, "patch", []);
export const posts = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => post(wire(from + n)));

/** Splits runs into what is known when each starts, and what its end adds. */
export function startsAndEnds(from: number, count: number) {
  const runs = Array.from({ length: count }, (_, n) => wire(from + n));
  return {
    starts: runs.map(({ end_time: _, outputs: __, error: ___, ...run }) => post(run)),
    ends: runs.map(({ id, trace_id, dotted_order, end_time, outputs, error }) =>
      patch({ id, trace_id, dotted_order, end_time, outputs, error, tags: ["ended"] }),
    ),
  };
}

/** Counts rows that statements and values of keys write. */
export function countRows(storage: DurableObjectStorage, work: () => void): number {
  const { sql, kv } = storage;
  const [sqlType, kvType] = [Object.getPrototypeOf(sql), Object.getPrototypeOf(kv)];
  const [{ exec }, { put }] = [sqlType, kvType];
  let rows = 0;
  sqlType.exec = function counted(this: SqlStorage, ...args: Parameters<SqlStorage["exec"]>) {
    const cursor = exec.apply(this, args);
    rows += cursor.rowsWritten;
    return cursor;
  };
  kvType.put = function counted(...args: unknown[]) {
    rows += 1;
    return put.apply(this, args);
  };
  try {
    work();
  } finally {
    [sqlType.exec, kvType.put] = [exec, put];
  }
  return rows;
}

const COLUMNS = [
  ...(["id", "trace_id", "parent_run_id", "name", "run_type", "start_us", "end_us"] as const),
  ...(["status", "error", "is_root", "dotted_order", "thread_id", "trace_tier"] as const),
  ...(["total_tokens", "prompt_tokens", "completion_tokens", "total_cost", "tags"] as const),
  ...(["first_token_us", "inputs", "outputs", "extra", "events", "search_text"] as const),
] satisfies (keyof RunView)[];

const TEXTS = [
  ...(["id", "trace_id", "parent_run_id", "name", "run_type", "status", "dotted_order"] as const),
  ...(["error", "thread_id", "trace_tier", "total_cost", "tags"] as const),
  ...(["inputs", "outputs", "extra", "events"] as const),
] satisfies TextName[];

/** Expects that a scan copies the texts that filters read. */
function expectCopies(runs: RunView[]): void {
  for (const name of TEXTS) {
    const packer = new TextPacker();
    for (const run of runs) run.copyText(packer, name);
    const { bytes, sizes } = packer.take();
    const values = runs.map((run) => run[name]);
    expect(unpackTexts({ bytes: new Uint8Array(bytes), sizes }), name).toEqual(values);
  }
}

export function readAll({ runs }: PartitionStore) {
  const all = [...runs.live({ ...EVERY_RUN, order: "asc" })];
  expectCopies(all);
  return all.map((run) => ({
    ...Object.fromEntries(COLUMNS.map((name) => [name, run[name]])),
    pairs: (["m", "i", "o"] as const).map((of) => run.pairs(of)),
  }));
}

/** Fails at a statement, before or after its effect. Returns whether it has failed. */
export function dieAt(
  { sql }: DurableObjectStorage,
  { at, isAfter }: { at: number; isAfter: boolean },
  work: () => void,
): boolean {
  const sqlType = Object.getPrototypeOf(sql);
  const { exec } = sqlType;
  let calls = 0;
  sqlType.exec = function dying(this: SqlStorage, ...args: Parameters<SqlStorage["exec"]>) {
    const n = calls++;
    if (n === at && !isAfter) throw new Error("dead");
    const cursor = exec.apply(this, args);
    if (n === at) throw new Error("dead");
    return cursor;
  };
  try {
    work();
  } catch (error) {
    if (!String(error).includes("dead")) throw error;
  } finally {
    sqlType.exec = exec;
  }
  return calls > at;
}
