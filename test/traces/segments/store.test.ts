import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { deleteBelow } from "../../../src/shared/storage/objects-below.ts";
import type { RunChange } from "../../../src/traces/changes.ts";
import { storePayloads } from "../../../src/traces/rows/payloads.ts";
import { EVERY_RUN } from "../../../src/traces/rows/run-source.ts";
import { ColdStorage } from "../../../src/traces/storage/cold-storage.ts";
import { PartitionStore } from "../../../src/traces/storage/partition.ts";
import { tracePrefix } from "../../../src/traces/storage/sealed-files.ts";
import { expectCounts } from "../../support/counts.ts";
import { after } from "../support/cold.ts";
import {
  countRows,
  onStorage,
  post,
  posts,
  readAll,
  startsAndEnds,
  wire,
} from "../support/partition-store.ts";

test("batches of 100 write at most 0.1 rows a run, with a later patch at most 0.3", async () => {
  const batches = await onStorage((storage) => {
    const store = new PartitionStore(storage);
    store.ingest(posts(0, 100), false);
    const alone = countRows(storage, () => {
      for (let n = 1; n <= 20; n++) store.ingest(posts(100 * n, 100), false);
    });
    expect(alone / 2000).toBeLessThanOrEqual(0.1);
    const both = countRows(storage, () => {
      for (let n = 30; n < 50; n++) {
        const { starts, ends } = startsAndEnds(100 * n, 100);
        store.ingest(starts, false);
        store.ingest(ends, false);
      }
    });
    expect(both / 2000).toBeLessThanOrEqual(0.3);
    return { alone, both };
  });
  // The simulator sends each span once, in batches of 100.
  await expectCounts("batch_of_100_spans", { trace_rows: batches.alone / 20 });
});

test("runs that come alone write at most 2 rows each, those of merges included", async () => {
  await onStorage((storage) => {
    const store = new PartitionStore(storage);
    store.ingest(posts(0, 1), false);
    const rows = countRows(storage, () => {
      for (let n = 1; n <= 300; n++) store.ingest(posts(n, 1), false);
    });
    expect(rows / 300).toBeLessThanOrEqual(2);
    expect(readAll(store)).toHaveLength(301);
    const tables = "SELECT name FROM sqlite_master WHERE name LIKE 'small_segments_%'";
    expect(storage.sql.exec(tables).toArray()).toHaveLength(1);
  });
});

test("runs that start and end alone are merged into few segments", async () => {
  const { starts, ends } = startsAndEnds(0, 1500);
  const late = 40;
  const changes = [
    ...starts.slice(0, late),
    ...starts
      .slice(late)
      .flatMap((start, n) => [start, ends[n]].filter((one) => one !== undefined)),
  ];
  await onStorage((storage) => {
    let store = new PartitionStore(storage);
    const rows = countRows(storage, () => {
      for (const [n, change] of changes.entries()) {
        if (n % 200 === 0) store = new PartitionStore(storage);
        store.ingest([change], false);
      }
    });
    expect(rows / changes.length).toBeLessThanOrEqual(1.2);
    const { n } = storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM segments").one();
    expect(n).toBeLessThanOrEqual(34);
    for (const { runs } of [store, new PartitionStore(storage)]) {
      const all = [...runs.live(EVERY_RUN)];
      expect(all).toHaveLength(1500);
      expect(all.filter(({ tags }) => tags === '["ended"]')).toHaveLength(1500 - late);
    }
  });
});

test("a run of 2 KB keeps at most 700 bytes", async () => {
  const bytes = await onStorage((storage) => {
    const store = new PartitionStore(storage);
    const before = storage.sql.databaseSize;
    for (let n = 0; n < 20; n++) store.ingest(posts(500 * n, 500), false);
    return storage.sql.databaseSize - before;
  });
  expect(bytes / 10_000).toBeLessThanOrEqual(700);
  await expectCounts("span_of_2_kb", { bytes: bytes / 10_000 });
});

test("a run of 2 KB whose body is in R2 keeps at most 150 bytes in the object", async () => {
  const partition = { project_id: crypto.randomUUID(), day: "2026-01-02", slot: 0 };
  const { bytes, segments } = await onStorage(async (storage) => {
    const { sql } = storage;
    const store = new PartitionStore(storage);
    const before = sql.databaseSize;
    for (let n = 0; n < 100; n++) store.ingest(posts(100 * n, 100), false);
    await after(2, () => new ColdStorage(env, storage, store).run(partition));
    const { segments } = sql
      .exec<{ segments: number }>("SELECT count(*) AS segments FROM cold_bodies")
      .one();
    return { bytes: (sql.databaseSize - before) / 10_000, segments };
  });
  while (!(await deleteBelow(env.ARTIFACTS, tracePrefix(partition.project_id))));
  expect(bytes).toBeLessThanOrEqual(150);
  // Small batches were merged, so that few objects have the bodies.
  expect(segments).toBeLessThanOrEqual(10);
});

test("any order of posts and patches gives the same runs, before and after a restart", async () => {
  const { starts, ends } = startsAndEnds(0, 90);
  const half = 45;
  const orders: RunChange[][][] = [
    [starts, ends],
    [ends, starts],
    [starts, ends, starts, ends],
    [[...starts, ...ends]],
    [ends.slice(0, half), starts, ends.slice(half)],
    starts.map((start, n) => [start, ends[n]].filter((one) => one !== undefined)),
    [...ends.map((end) => [end]), ...starts.toReversed().map((start) => [start])],
  ];
  const expected = await onStorage((storage) => {
    const store = new PartitionStore(storage);
    store.ingest([...starts, ...ends], false);
    return readAll(store);
  });
  expect(expected).toHaveLength(90);
  for (const batches of orders) {
    await onStorage((storage) => {
      let store = new PartitionStore(storage);
      for (const batch of batches) {
        store.ingest(batch, false);
        // An object loses its memory between two calls.
        store = new PartitionStore(storage);
      }
      expect(readAll(store)).toEqual(expected);
      expect(store.counts.current).toMatchObject({ rows: 90, roots: 18 });
    });
  }
});

test("a batch that fails leaves storage and memory as they were", async () => {
  await onStorage((storage) => {
    const store = new PartitionStore(storage);
    store.ingest(posts(0, 70), false);
    const before = [readAll(store), store.counts.current];
    const [bad] = posts(100, 1);
    const unreadable = { ...bad, payloads: { extra: { text: "{" } } } as RunChange;
    const { starts } = startsAndEnds(0, 70);
    const [first] = starts;
    const changes = [...posts(80, 5), { ...first, ...unreadable, id: first?.id ?? "" }];
    expect(() => store.ingest(changes, false)).toThrow(SyntaxError);
    expect([readAll(store), store.counts.current]).toEqual(before);
    expect(readAll(new PartitionStore(storage))).toEqual(before[0]);
    store.ingest(posts(80, 5), false);
    expect(store.counts.current.rows).toBe(75);
  });
});

/** Ids of all stored versions of runs, in hexadecimal digits. */
function storedKeys({ sql }: DurableObjectStorage): string {
  const rows = sql.exec<{ ids: ArrayBuffer }>(
    "SELECT ids FROM segments UNION ALL SELECT ids FROM small_segments_0",
  );
  return [...rows].map(({ ids }) => Buffer.from(ids).toString("hex")).join();
}

function keyOf(id: string): string {
  return id.replaceAll("-", "");
}

test("pairs and search text are the same for payloads in the object and in R2", async () => {
  const wide = (name: string, keys: number) =>
    Object.fromEntries(
      Array.from({ length: keys }, (_, n) => [`${name}${n}`, `${name} Value ${n}`]),
    );
  const sent = (index: number, chars: number) => {
    const last = "x".repeat(chars);
    return post({
      ...wire(index),
      name: "Wide",
      error: null,
      extra: { metadata: wide("meta", 60), last },
      inputs: { list: [1, "Two", null], ...wide("in", 60), last },
      outputs: { ...wide("out", 60), last },
    });
  };
  const [inline, long] = [sent(0, 250), sent(1, 300_000)];
  const far = await storePayloads(env, crypto.randomUUID(), long, []);
  for (const name of ["inputs", "outputs", "extra"] as const) {
    expect(far.payloads[name]).toHaveProperty("key");
  }
  await onStorage((storage) => {
    new PartitionStore(storage).ingest([inline, far], false);
    const { runs } = new PartitionStore(storage);
    const [a, b] = [inline, far].map(({ id }) => runs.byId(id));
    expect((["m", "i", "o"] as const).map((of) => a?.pairs(of).length)).toEqual([60, 42, 0]);
    for (const of of ["m", "i", "o"] as const) expect(b?.pairs(of)).toEqual(a?.pairs(of));
    const [name, error, inputs, outputs] = a?.search_text.split("\u001f") ?? [];
    expect([name, error]).toEqual(["wide", ""]);
    expect(inputs).toMatch(/^1\ntwo\nnull\nin value 0\n.*in value 59\nx{250}\n$/s);
    expect(outputs).toMatch(/^out value 0\n.*out value 59\nx{250}\n$/s);
    expect(b?.search_text).toBe(a?.search_text);
  });
});

test("the size of a payload in R2 is its number of bytes", async () => {
  const change = post({ ...wire(0), inputs: { text: "é".repeat(300_000) } });
  const { payloads } = await storePayloads(env, crypto.randomUUID(), change, []);
  expect(payloads.inputs).toMatchObject({ bytes: 600_000 + '{"text":""}'.length });
});

test("deleted runs do not come back in an older version", async () => {
  await onStorage((storage) => {
    const store = new PartitionStore(storage);
    const { starts, ends } = startsAndEnds(0, 100);
    store.ingest(starts, false);
    store.ingest(ends.slice(0, 40), false);
    store.ingest(ends.slice(0, 3), false);
    const trace_id = starts[0]?.columns.trace_id ?? "";
    expect(store.deleteTraces("2026-11-01", [trace_id])).toBe(5);
    expect(store.deleteTraces("2026-11-01", [trace_id])).toBe(0);
    const deleted = starts.filter(({ columns }) => columns.trace_id === trace_id);
    for (const { id } of deleted) expect(storedKeys(storage)).not.toContain(keyOf(id));
    expect(storedKeys(storage)).toContain(keyOf(starts[50]?.id ?? ""));
    for (const each of [store, new PartitionStore(storage)]) {
      expect(readAll(each)).toHaveLength(95);
      expect(each.runs.ofTrace(trace_id)).toEqual([]);
      expect(each.counts.current).toMatchObject({ rows: 95, roots: 19 });
    }
  });
});

test("a deletion of more runs than a segment may have leaves none", async () => {
  await onStorage((storage) => {
    const store = new PartitionStore(storage);
    const runs = posts(0, 6000);
    for (let at = 0; at < runs.length; at += 1000) store.ingest(runs.slice(at, at + 1000), false);
    const traces = [...new Set(runs.map(({ columns }) => columns.trace_id ?? ""))];
    expect(store.deleteTraces("2026-11-01", traces.slice(1))).toBe(5995);
    for (const each of [store, new PartitionStore(storage)]) {
      expect(readAll(each)).toHaveLength(5);
      expect(each.runs.ofTrace(traces[0] ?? "")).toHaveLength(5);
      expect(each.counts.current).toMatchObject({ rows: 5, roots: 1 });
    }
    expect(storedKeys(storage)).toHaveLength(5 * keyOf(runs[0]?.id ?? "").length);
  });
});
