import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import type { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import { traceOutbox } from "../../../src/agent-server/threads/object/outboxes.ts";
import { MIGRATIONS } from "../../../src/agent-server/threads/object/storage/migrations.ts";
import { ThreadStore } from "../../../src/agent-server/threads/object/storage/store.ts";
import type { Op } from "../../../src/isolate/contract.ts";
import type { TraceOp } from "../../../src/isolate/trace-contract.ts";
import { log } from "../../../src/shared/log.ts";
import { migrate } from "../../../src/shared/storage/object-tables.ts";
import { pendingTraces } from "../../support/pending-traces.ts";
import { createThread, newStore, startRun } from "../../support/thread-storage.ts";
import { testThread } from "../../support/threads.ts";

function inStorage<T>(work: (storage: DurableObjectStorage) => T) {
  const stub = env.THREADS.getByName(crypto.randomUUID()) as DurableObjectStub<ThreadObject>;
  return runInDurableObject(stub, (_, { storage }) => work(storage));
}

const idOf = (n: number) => `1ef00000-0000-6000-8000-${String(n).padStart(12, "0")}`;

const trace = (n: number, size = 10): TraceOp => ({
  ...{ op: "trace", kind: "post", id: idOf(n), open: n % 3 === 0 ? `order ${n}` : null },
  data: JSON.stringify({ n, text: "x".repeat(size) }),
});

const event = (n: number): Op => ({ op: "event", event: "custom", data: `"${n}"` });

/** Numbers from 0 to 1 that are the same in each run. */
function randomOf(seed: number) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const OVER = { failure: null, is_timeout: false, summary: null, traces: null };

/** Delivers a page. `during`: work between the read and the removal. */
function deliver(store: ThreadStore, delivered: Set<number>, during = () => {}) {
  const page = store.traces.page();
  during();
  for (const { data } of page.rows) delivered.add(JSON.parse(data).n);
  store.transaction(() => store.traces.remove(page));
}

test.each([1, 2, 3, 4])("traces survive crashes, deliveries and rollbacks (%i)", async (seed) => {
  const { order } = await testThread();
  await inStorage((storage) => {
    const random = randomOf(seed);
    const delivered = new Set<number>();
    let store = newStore(storage);
    let run_id = startRun(store, order);
    let added = 0;
    const batch = () => {
      const traces = Array.from({ length: Math.floor(random() * 3) }, () => {
        added += 1;
        return trace(added, random() < 0.1 ? 40_000 : random() * 9000);
      });
      const events = Array.from({ length: Math.floor(random() * 3) }, () => event(added));
      return [...traces, ...events];
    };
    const commit = () => void store.transaction(() => store.apply(run_id, batch()));
    const actions = [
      ...[commit, commit, commit],
      () => deliver(store, delivered),
      () => deliver(store, delivered, commit),
      () => {
        const row = store.runs.queue.row(run_id);
        store = new ThreadStore(storage);
        expect(store.runs.queue.row(run_id)).toEqual(row);
      },
      () => {
        const run = store.runs.get(run_id);
        if (!run) throw new Error("The run is gone");
        store.transaction(() => {
          if (random() < 0.5) store.undo(run_id);
          else store.endRun(run, { ...OVER, ops: batch() });
        });
        if (random() < 0.5) deliver(store, delivered);
        run_id = startRun(store, order);
      },
    ];
    for (let n = 0; n < 400; n++) actions[Math.floor(random() * actions.length)]?.();
    const run = store.runs.get(run_id);
    if (run) store.transaction(() => store.endRun(run, { ...OVER, ops: batch() }));
    while (store.traces.hasPending) deliver(store, delivered);
    expect(delivered.size).toBe(added);
    expect(pendingTraces(storage.sql)).toBe(0);
    expect(new ThreadStore(storage).traces.hasPending).toBe(false);
  });
});

test("a failed transaction leaves traces as they were", async () => {
  const { order } = await testThread();
  await inStorage((storage) => {
    const store = newStore(storage);
    const run_id = startRun(store, order);
    store.transaction(() => store.apply(run_id, [event(1), trace(1)]));
    const fail = () => {
      store.apply(run_id, [trace(2)]);
      throw new Error("full");
    };
    expect(() => store.transaction(fail)).toThrow("full");
    store.transaction(() => store.apply(run_id, [trace(3)]));
    const delivered = new Set<number>();
    while (store.traces.hasPending) deliver(store, delivered);
    expect([...delivered]).toEqual([1, 3]);
  });
});

test("traces that are added during a delivery stay pending when a deletion reads them", async () => {
  const { order } = await testThread();
  await inStorage((storage) => {
    const store = newStore(storage);
    const run_id = startRun(store, order);
    const append = (n: number) =>
      store.transaction(() => store.apply(run_id, [event(n), trace(n)]));
    append(1);
    const delivered = new Set<number>();
    deliver(store, delivered, () => {
      append(2);
      store.traces.pages();
    });
    expect(store.traces.hasPending).toBe(true);
    deliver(store, delivered);
    expect([...delivered]).toEqual([1, 2]);
  });
});

test("a delivery of a deleted thread's traces leaves those of the next thread in the object", async () => {
  const { order } = await testThread();
  const stub = env.THREADS.getByName(crypto.randomUUID()) as DurableObjectStub<ThreadObject>;
  await runInDurableObject(stub, async (_, { storage }) => {
    const store = newStore(storage);
    store.transaction(() => store.apply(startRun(store, order), [trace(1)]));
    const ends = { onFlushed: () => {}, onCancelled: () => {} };
    const outbox = traceOutbox({ env, store, kv: storage.kv, retry_ms: 1000, ...ends });
    const flushed = outbox.flush();
    store.markDeleted();
    createThread(store);
    store.transaction(() => store.apply(startRun(store, order), [trace(2)]));
    const warn = vi.spyOn(log, "warn");
    await flushed;
    // Ingestion was given the traces, and knows no such deployment.
    const { deployment_id } = store.thread.header();
    expect(warn).toHaveBeenLastCalledWith(
      "traces_dropped",
      expect.objectContaining({ deployment_id }),
    );
    warn.mockRestore();
  });
});

test("a batch of a run writes one row for its events, its traces and its progress", async () => {
  const { order } = await testThread();
  await inStorage((storage) => {
    const store = newStore(storage);
    const run_id = startRun(store, order);
    const rowsOf = (ops: Op[]) => {
      const before = storage.sql.exec<{ n: number }>("SELECT total_changes() AS n").one().n;
      store.transaction(() => store.apply(run_id, ops));
      return storage.sql.exec<{ n: number }>("SELECT total_changes() AS n").one().n - before;
    };
    expect(rowsOf([event(1), trace(1)])).toBe(1);
    expect(rowsOf([trace(2)])).toBe(1);
    deliver(store, new Set());
    expect(rowsOf([trace(3)])).toBe(1);
    expect(rowsOf([event(4), event(5)])).toBe(1);
  });
});

test("a run and its traces of the version before go on", async () => {
  const { order } = await testThread();
  await inStorage((storage) => {
    const { sql, kv } = storage;
    const newer = newStore(storage);
    const run_id = startRun(newer, order);
    newer.transaction(() => newer.traces.append(run_id, [trace(3)]));
    const row = newer.runs.queue.row(run_id);
    const version = MIGRATIONS.findIndex((step) => step.includes("traces_sent"));
    const added = MIGRATIONS.slice(version)
      .join("\n")
      .matchAll(/ALTER TABLE (\w+) ADD COLUMN (\w+)/g);
    for (const [, table, name] of added) sql.exec(`ALTER TABLE ${table} DROP COLUMN ${name}`);
    kv.put("schema_version", version);

    const store = new ThreadStore(storage);
    expect(store.runs.queue.row(run_id)).toEqual({ ...row, progress: 0, accepted_at: 0 });
    expect(store.traces.hasPending).toBe(true);
    store.transaction(() => store.apply(run_id, [trace(4)]));
    store.transaction(() => store.apply(run_id, [event(1), trace(5)]));
    const crashed = new ThreadStore(storage);
    expect(crashed.runs.queue.row(run_id)).toEqual(store.runs.queue.row(run_id));
    const delivered = new Set<number>();
    while (crashed.traces.hasPending) deliver(crashed, delivered);
    expect([...delivered].sort()).toEqual([3, 4, 5]);
    migrate(storage, MIGRATIONS);
  });
});
