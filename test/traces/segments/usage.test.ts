import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { RunChange } from "../../../src/traces/changes.ts";
import { toDottedOrder } from "../../../src/traces/dotted-order.ts";
import type { TracePartition } from "../../../src/traces/object/object.ts";
import { TraceUsage } from "../../../src/traces/rollup/trace-usage.ts";
import { UsageIndex } from "../../../src/traces/rollup/usage-index.ts";
import { EVERY_RUN } from "../../../src/traces/rows/run-source.ts";
import { PartitionStore } from "../../../src/traces/storage/partition.ts";
import { NO_USAGE } from "../../../src/traces/usage.ts";

const SEED = 20_261_124;
const PARTITIONS = 60;
const START = 1_793_500_000_000_000;

const sent = fc.record({
  trace: fc.constantFrom(0, 1, 2, 3),
  parent: fc.nat(20),
  run_type: fc.constantFrom("llm", "chain"),
  total_tokens: fc.option(fc.nat(9), { nil: null }),
  total_cost: fc.option(fc.constantFrom("0.1", "0.000000001", "-2", "123456789012345.6"), {
    nil: null,
  }),
  place: fc.constantFrom("own", "own", "own", "own", "other time", "none"),
  isLate: fc.integer({ min: 0, max: 15 }).map((n) => n === 0),
  isPatched: fc.integer({ min: 0, max: 15 }).map((n) => n === 0),
});
type Sent = typeof sent extends fc.Arbitrary<infer T> ? T : never;
type Placed = { id: string; trace: number; dotted_order: string };

const idOf = (kind: number, n: number) =>
  `${String(kind).padStart(8, "0")}-0000-4000-8000-${String(n).padStart(12, "0")}`;
const TRACES = [idOf(1, 0), idOf(1, 1), "00000000-0000-0000-0000-000000000000", "no UUID"];

/** Returns a run below an earlier one of its trace, or a root, or a run without a place. */
function toPost({ trace, parent, place, run_type, ...usage }: Sent, n: number, placed: Placed[]) {
  const above = placed.filter((one) => one.trace === trace);
  const run = above[parent % Math.max(1, above.length)];
  const [id, start_us] = [idOf(2, n), START + n];
  const last = toDottedOrder(place === "own" ? start_us : start_us + 7, id);
  const dotted_order = run === undefined ? last : `${run.dotted_order}.${last}`;
  const isPlaced = place !== "none";
  if (isPlaced) placed.push({ id, trace, dotted_order });
  const { total_tokens, total_cost } = usage;
  const extra = { pairs: [], terms: [], keys: 0, thread_id: null };
  const change: RunChange = {
    ...{ id, kind: "post", payloads: {} },
    columns: {
      ...{ trace_id: TRACES[trace] ?? "", name: "step", run_type, start_us },
      ...(run === undefined && isPlaced ? {} : { parent_run_id: run?.id ?? idOf(3, 0) }),
      ...(isPlaced ? { dotted_order } : {}),
    },
    digest: { extra: { ...extra, usage: { ...NO_USAGE, total_tokens, total_cost } } },
  };
  return change;
}

/** Writes posts as up to two segments, then patches, of which each replaces a run. */
function write(store: PartitionStore, runs: Sent[]): void {
  const placed: Placed[] = [];
  const posts = runs.map((run, n) => ({ ...run, post: toPost(run, n, placed) }));
  for (const some of Map.groupBy(posts, ({ isLate }) => isLate).values()) {
    store.ingest(
      some.map(({ post }) => post),
      false,
    );
  }
  for (const { post } of posts.filter(({ isPatched }) => isPatched)) {
    const patch = {
      kind: "patch",
      columns: {},
      payloads: {},
      digest: {},
      tags: ["ended"],
    } as const;
    store.ingest([{ id: post.id, ...patch, tags: [...patch.tags] }], false);
  }
}

test("usage of a run is the same when its whole trace is read", async () => {
  const counts = { inSegment: 0, summed: 0, inTrace: 0 };
  const compare = (store: PartitionStore) => {
    const usage = new UsageIndex(store.runs);
    const descendantsWithUsage = store.runs.descendantsWithUsage();
    for (const run of store.runs.live(EVERY_RUN)) {
      const expected = new TraceUsage(store.runs.ofTrace(run.trace_id)).summed(run);
      expect(usage.summed(run)).toEqual(expected);
      const isInSegment = descendantsWithUsage(run) !== null;
      counts[isInSegment ? "inSegment" : "inTrace"] += 1;
      if (isInSegment && expected !== null) counts.summed += 1;
    }
  };
  const runs = fc.array(sent, { minLength: 10, maxLength: 60 });
  const property = fc.asyncProperty(runs, async (some) => {
    const stub = env.PARTITIONS.getByName(crypto.randomUUID());
    await runInDurableObject(stub as DurableObjectStub<TracePartition>, (_, { storage }) => {
      const store = new PartitionStore(storage);
      write(store, some);
      compare(store);
    });
  });
  await fc.assert(property, { seed: SEED, numRuns: PARTITIONS });
  const enough = expect.toSatisfy((count: number) => count > PARTITIONS / 2);
  expect(counts).toEqual({ inSegment: enough, summed: enough, inTrace: enough });
});
