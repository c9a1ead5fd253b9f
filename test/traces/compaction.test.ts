import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, expect, test, vi } from "vitest";
import { PartitionStore } from "../../src/traces/storage/partition.ts";
import {
  ALL,
  deleteSealed,
  exportDay,
  NOON,
  partition,
  type Scene,
  SLOW_MS,
  scene,
  sealedKeys,
} from "../exports/support/sealed.ts";
import { api } from "../support/workspace.ts";
import { countRows, dieAt, onStorage, readAll, startsAndEnds } from "./support/partition-store.ts";
import { batch, type WireRun, wireRun } from "./support/runs.ts";
import { placesOf } from "./support/storage-scan.ts";

const HOUR_MS = 3_600_000;

afterEach(async () => {
  vi.restoreAllMocks();
  await deleteSealed();
});

/** Stores batches of 300 runs, of which 120 each have a patch, and with it a dead version. */
function ingestBatches(store: PartitionStore, batches: number): void {
  for (let n = 0; n < batches; n++) {
    const { starts, ends } = startsAndEnds(300 * n, 300);
    store.ingest(starts, false);
    store.ingest(ends.slice(0, 120), false);
  }
}

/** Number of stored versions of runs, the dead ones included. */
function versions({ segments }: PartitionStore): number {
  const all = ["segments", segments.smallTable].flatMap((table) => segments.loaded.of(table));
  return all.reduce((sum, { info }) => sum + info.runs, 0);
}

function compactAll(store: PartitionStore): number {
  let steps = 0;
  while (store.compact()) steps += 1;
  return steps;
}

test("compaction writes at most 0.01 rows for each live run, and drops the dead versions", async () => {
  await onStorage((storage) => {
    const store = new PartitionStore(storage);
    ingestBatches(store, 20);
    const [expected, before] = [readAll(store), store.counts.current];
    expect([expected.length, versions(store)]).toEqual([6000, 8400]);
    const bytes = storage.sql.databaseSize;
    const rows = countRows(storage, () => expect(compactAll(store)).toBeGreaterThan(1));
    // The 20 segments had 180 live runs each.
    expect(rows / (20 * 180)).toBeLessThanOrEqual(0.01);
    expect(storage.sql.databaseSize).toBeLessThan(0.85 * bytes);
    expect(countRows(storage, () => compactAll(store))).toBe(0);
    for (const each of [store, new PartitionStore(storage)]) {
      expect(versions(each)).toBe(6000);
      expect(readAll(each)).toEqual(expected);
      expect(each.counts.current).toEqual(before);
    }
  });
});

test("runs that start and end alone keep few dead versions", async () => {
  await onStorage((storage) => {
    const store = new PartitionStore(storage);
    const { starts, ends } = startsAndEnds(0, 20);
    const text = Array.from({ length: 3000 }, () => crypto.randomUUID()).join();
    for (const [n, start] of starts.entries()) {
      const inputs = { text: JSON.stringify({ text: text.slice(n) }) };
      store.ingest([{ ...start, payloads: { ...start.payloads, inputs } }], false);
      store.ingest(ends.slice(n, n + 1), false);
    }
    const expected = readAll(store);
    expect(compactAll(store)).toBeGreaterThan(0);
    expect(versions(store)).toBeLessThanOrEqual(expected.length / 0.75);
    expect(readAll(new PartitionStore(storage))).toEqual(expected);
  });
});

test("compaction between changes adds at most 0.1 rows for each run, however often it runs", async () => {
  await onStorage((storage) => {
    const store = new PartitionStore(storage);
    store.ingest(startsAndEnds(9000, 1).starts, false);
    let rows = 0;
    for (let n = 0; n < 40; n++) {
      const { starts, ends } = startsAndEnds(100 * n, 100);
      for (const changes of [starts, ends.slice(0, 40)]) {
        store.ingest(changes, false);
        rows += countRows(storage, () => compactAll(store));
      }
    }
    expect(rows).toBeGreaterThan(0);
    expect(rows / 4000).toBeLessThanOrEqual(0.1);
  });
});

test("a crash at any statement of a compaction loses and doubles nothing", async () => {
  await onStorage((storage) => {
    const build = new PartitionStore(storage);
    ingestBatches(build, 4);
    const expected = readAll(build);
    const counts = build.counts.current;
    const sizes = new Set<number>();
    let isDead = true;
    for (let at = 0; isDead; at++) {
      for (const isAfter of [false, true]) {
        // A process that starts again has no memory.
        isDead = dieAt(storage, { at, isAfter }, () => compactAll(new PartitionStore(storage)));
        const store = new PartitionStore(storage);
        sizes.add(versions(store));
        expect([at, readAll(store)]).toEqual([at, expected]);
        expect(store.counts.current).toEqual(counts);
      }
    }
    expect([...sizes].sort()).toEqual([1200, 1680]);
  });
});

type Marked = Scene & { text: string; run: WireRun };

/** Adds 200 runs to a day, 90 of which have a dead version. A text is in all versions of one trace. */
async function marked(): Promise<Marked> {
  const one = await scene(1900);
  const text = `marker${crypto.randomUUID().replaceAll("-", "")}`;
  const noise = () => Array.from({ length: 50 }, () => crypto.randomUUID()).join();
  const runs: WireRun[] = Array.from({ length: 200 }, (_, n) => {
    const inputs = { noise: noise(), text: n === 0 ? text : "" };
    const { session_name: _name, ...run } = wireRun("", { inputs }, { at: Date.parse(NOON) + n });
    return { ...run, session_id: one.project };
  });
  expect((await batch(one.ours.editor, runs)).status).toBe(202);
  const patches = runs.slice(0, 90).map(({ id }) => ({ id, outputs: { noise: noise() } }));
  expect((await batch(one.ours.editor, [], patches)).status).toBe(202);
  const [run] = runs;
  if (run === undefined) throw new Error("No run was made");
  return { ...one, text, run };
}

const stored = (of: Scene) =>
  runInDurableObject(partition(of), (_, { storage }) => versions(new PartitionStore(storage)));

/** Runs alarms with the clock of their times, from `now` for an hour, until `isDone`. */
async function runAlarms(of: Scene, now: number, isDone: () => Promise<boolean>): Promise<void> {
  const end = now + HOUR_MS;
  for (let at: number | null = now; !(await isDone()); ) {
    at = await runInDurableObject(partition(of), (_, { storage }) => storage.getAlarm());
    // An alarm that runs already sets the next one.
    if (at === null) continue;
    expect(at).toBeLessThan(end);
    const clock = vi.spyOn(Date, "now").mockImplementation(() => Math.max(at ?? 0, now));
    await runDurableObjectAlarm(partition(of)).finally(() => clock.mockRestore());
  }
}

test(
  "a quiet partition is compacted by its alarm, and keeps every answer and its sealed files",
  async () => {
    const one = await marked();
    const now = Date.now();
    const [expected, all] = [await exportDay(one), await exportDay(one, { filter: ALL })];
    const sealed = await sealedKeys(one);
    expect(sealed.length).toBeGreaterThan(0);
    expect(await stored(one)).toBe(1290);
    await runAlarms(one, now, async () => (await stored(one)) === 1200);
    await evictDurableObject(partition(one));
    expect(await exportDay(one, { filter: ALL })).toEqual(all);
    expect(await exportDay(one)).toEqual(expected);
    expect(await sealedKeys(one)).toEqual(sealed);
  },
  SLOW_MS,
);

test.each(["before", "after"])(
  "no byte of a trace remains within the hour of its deletion %s compaction",
  async (when) => {
    const { text, run, ...one } = await marked();
    await exportDay(one);
    expect(await placesOf(text)).toEqual(["bucket", "object run"]);
    const now = Date.now();
    const compacted = async () => (await stored(one)) <= 1200;
    if (when === "after") await runAlarms(one, now, compacted);
    const json = { session_id: one.project, trace_ids: [run.trace_id] };
    expect((await api("/runs/delete", { key: one.ours.admin, json })).status).toBe(200);
    await runAlarms(one, now, async () => (await placesOf(text)).length === 0);
    await runAlarms(one, now, async () => (await stored(one)) === 1199);
    expect(await placesOf(text)).toEqual([]);
  },
  SLOW_MS,
);
