import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { RunChange } from "../../../src/traces/changes.ts";
import type { TracePartition } from "../../../src/traces/object/object.ts";
import { FeedbackLookup } from "../../../src/traces/reads/feedback-lookup.ts";
import { RunReader } from "../../../src/traces/reads/run-reader.ts";
import { planPieces, type ScanPlanQuery } from "../../../src/traces/reads/scan.ts";
import { EVERY_RUN } from "../../../src/traces/rows/run-source.ts";
import { PartitionStore } from "../../../src/traces/storage/partition.ts";

const SEED = 20_261_125;
const PLANS = 80;
const MIDNIGHT = Date.parse("2026-05-06T00:00:00Z") * 1000;
const MINUTE_US = 60_000_000;
const WHOLE = { filter: null, project_id: "", max_bytes: 1e12, after: null, min_seq: null };
const QUERY = { ...WHOLE, from_us: 0, to_us: 4e15, max_seq: 1e17 };

const idOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

function postOf(n: number, start_us: number): RunChange {
  const id = idOf(n);
  const columns = { trace_id: id, name: "step", run_type: "chain", start_us };
  return { ...{ id, kind: "post", payloads: {}, digest: {} }, columns };
}

/** Batches of runs around midnight, as the numbers of their minutes. */
const batches = fc.array(
  fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 1, maxLength: 20, size: "max" }),
  { minLength: 1, maxLength: 8 },
);
const range = fc.record({
  max_rows: fc.integer({ min: 1, max: 40 }),
  from: fc.option(fc.integer({ min: -9, max: 0 }), { nil: -100 }),
  to: fc.option(fc.integer({ min: 1, max: 9 }), { nil: 100 }),
  batch: fc.option(fc.nat(7), { nil: null }),
  moved: fc.array(fc.nat(100), { maxLength: 5 }),
});

function onStore(work: (store: PartitionStore, sql: SqlStorage) => void): Promise<void> {
  const stub = env.PARTITIONS.getByName(crypto.randomUUID());
  return runInDurableObject(stub as DurableObjectStub<TracePartition>, (_, { storage }) =>
    work(new PartitionStore(storage), storage.sql),
  );
}

/** Pieces of a list of the runs that were in the range at the plan's sequence, by their start at it. */
function expectedPieces(store: PartitionStore, query: ScanPlanQuery, starts: number[]) {
  const isInside = (start_us: number) => start_us >= query.from_us && start_us < query.to_us;
  const runs = [...store.runs.live(EVERY_RUN)]
    .filter(({ seq }) => seq <= query.max_seq)
    .map(({ id, start_us, changed_seq }) => {
      const former_us = changed_seq > query.max_seq ? starts[Number(id.slice(-12))] : start_us;
      return { start_us: former_us ?? start_us, id };
    })
    .filter(({ start_us }) => isInside(start_us))
    .sort((a, b) => a.start_us - b.start_us || (a.id < b.id ? -1 : 1));
  const days = Map.groupBy(runs, ({ start_us }) => start_us < MIDNIGHT);
  return [...days.values()].flatMap((day) => {
    const pieces = Math.ceil(day.length / query.max_rows);
    return Array.from({ length: pieces }, (_, n) => {
      const some = day.slice(n * query.max_rows, (n + 1) * query.max_rows);
      const isFull = some.length === query.max_rows;
      return { rows: some.length, until: isFull ? some.at(-1) : null };
    });
  });
}

test("pieces of a plan have the rows of a sorted list", async () => {
  const property = fc.asyncProperty(batches, range, async (sent, { from, to, batch, ...rest }) => {
    await onStore((store, sql) => {
      let n = 0;
      const seqs: number[] = [];
      const starts = sent.flat().map((minute) => MIDNIGHT + minute * MINUTE_US);
      for (const minutes of sent) {
        const posts = minutes.map((minute) => postOf(n++, MIDNIGHT + minute * MINUTE_US));
        store.ingest(posts, false);
        seqs.push(store.counts.current.seq);
      }
      for (const moved of rest.moved) {
        const columns = { start_us: MIDNIGHT - MINUTE_US };
        const patch = { kind: "patch", payloads: {}, digest: {} } as const;
        store.ingest([{ id: idOf(moved % n), ...patch, columns }], false);
      }
      const query = {
        ...{ ...QUERY, max_rows: rest.max_rows, max_seq: seqs[batch ?? -1] ?? QUERY.max_seq },
        ...{ from_us: MIDNIGHT + from * MINUTE_US, to_us: MIDNIGHT + to * MINUTE_US },
      };
      const { pieces, next } = planPieces(
        new RunReader(store.runs, new FeedbackLookup(sql)),
        query,
        0,
      );
      expect(next).toBeNull();
      expect(pieces.map(({ rows, until }) => ({ rows, until }))).toEqual(
        expectedPieces(store, query, starts),
      );
    });
  });
  await fc.assert(property, { seed: SEED, numRuns: PLANS });
});

test("a plan reads the segments around its cuts alone", async () => {
  await onStore((store, sql) => {
    for (let batch = 0; batch < 40; batch++) {
      const posts = Array.from({ length: 100 }, (_, n) =>
        postOf(100 * batch + n, MIDNIGHT + 100 * batch + n),
      );
      store.ingest(posts, false);
    }
    store.reset();
    const plan = () =>
      planPieces(
        new RunReader(store.runs, new FeedbackLookup(sql)),
        { ...QUERY, max_rows: 1950 },
        0,
      );
    const heads = countHeads(sql, () => {
      expect(plan().pieces.map(({ rows }) => rows)).toEqual([1950, 1950, 100]);
    });
    expect(heads).toBeLessThanOrEqual(8);
  });
});

/** Counts statements that read the head of a segment. */
function countHeads(sql: SqlStorage, work: () => void): number {
  const type = Object.getPrototypeOf(sql);
  const { exec } = type;
  let heads = 0;
  type.exec = function counted(this: SqlStorage, ...args: Parameters<SqlStorage["exec"]>) {
    if (args[0].startsWith("SELECT head")) heads += 1;
    return exec.apply(this, args);
  };
  try {
    work();
  } finally {
    type.exec = exec;
  }
  return heads;
}
