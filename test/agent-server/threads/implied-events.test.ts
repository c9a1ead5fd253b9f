import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { planRun } from "../../../src/agent-server/threads/object/loop/run-plan.ts";
import type { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import { ThreadStore } from "../../../src/agent-server/threads/object/storage/store.ts";
import type { Op } from "../../../src/isolate/contract.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { testThread } from "../../support/threads.ts";

type Order = Awaited<ReturnType<typeof testThread>>["order"];
type Seen = { id: number; run_id: string; event: string; data: string };

const OVER = { failure: null, is_timeout: false, summary: null, traces: null };
const FAILED = { ...OVER, failure: { error: "RangeError", message: "the node broke", stack: "" } };
const STEPS = 300;

async function inStorage(work: (storage: DurableObjectStorage) => void) {
  const stub = env.THREADS.getByName(newId()) as DurableObjectStub<ThreadObject>;
  await runInDurableObject(stub, (_, { storage }) => work(storage));
}

function randomOf(seed: number) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A thread beside what its readers have seen. */
class Watched {
  readonly #storage: DurableObjectStorage;
  readonly #order: Order;
  store: ThreadStore;
  running: string | null = null;
  #seen: Seen[] = [];
  #last = 0;
  #count = 0;

  constructor(storage: DurableObjectStorage, order: Order) {
    this.#storage = storage;
    this.#order = order;
    this.store = new ThreadStore(storage);
    const place = { thread_id: newId(), deployment_id: newId(), workspace_id: newId() };
    this.store.create({ ...place, metadata: {}, temporary: false, ttl: null } as never);
  }

  start() {
    if (this.running !== null) return;
    const request = this.#order("echo");
    const plan = planRun(this.store, request);
    if (typeof plan === "string") throw new Error(plan);
    const { run_id } = request;
    this.store.transaction(() => {
      this.store.runs.insert(request, plan.merged, this.store.thread.snapshot());
      this.#begin(run_id);
    });
    this.running = run_id;
    this.#expect(run_id, "metadata", { run_id, attempt: 1 });
  }

  startAgain() {
    const { running } = this;
    if (running === null) return;
    this.store.transaction(() => this.#begin(running));
    const attempt = this.store.runs.get(running)?.attempt;
    this.#expect(running, "metadata", { run_id: running, attempt });
  }

  /** A transaction that fails after a start leaves nothing of it. */
  failToStart() {
    if (this.running !== null) return;
    const request = this.#order("echo");
    const plan = planRun(this.store, request);
    if (typeof plan === "string") throw new Error(plan);
    const start = () =>
      this.store.transaction(() => {
        this.store.runs.insert(request, plan.merged, this.store.thread.snapshot());
        this.#begin(request.run_id);
        throw new Error("full");
      });
    expect(start).toThrow("full");
  }

  #begin(run_id: string) {
    this.store.runs.start(run_id, "version");
    const run = this.store.runs.get(run_id);
    if (run) this.store.beginAttempt(run);
  }

  commit(events: number, traces: number) {
    const { running } = this;
    if (running === null) return;
    this.store.transaction(() => this.store.apply(running, this.#ops(running, events, traces)));
  }

  #ops(run_id: string, events: number, traces: number): Op[] {
    const ops: Op[] = [];
    for (let n = 0; n < events; n++) {
      this.#count += 1;
      const data = this.#count;
      ops.push({ op: "event", event: "custom", data: JSON.stringify(data) });
      this.#expect(run_id, "custom", data);
    }
    for (let n = 0; n < traces; n++) {
      ops.push({
        op: "trace",
        kind: "post",
        id: newId(),
        parent: null,
        data: "{}",
        texts: {},
      } as never);
    }
    return ops;
  }

  end(events: number, fails: boolean) {
    const run = this.running === null ? null : this.store.runs.get(this.running);
    if (!run) return;
    const ops = this.#ops(run.run_id, events, 0);
    this.store.transaction(() => this.store.endRun(run, { ...(fails ? FAILED : OVER), ops }));
    const { error, message } = FAILED.failure;
    if (fails) this.#expect(run.run_id, "error", { error, message });
    this.running = null;
  }

  stop() {
    const { running } = this;
    if (running === null) return;
    this.store.transaction(() => this.store.runs.end(running, "interrupted"));
    this.running = null;
  }

  undo() {
    const { running } = this;
    if (running === null) return;
    this.store.transaction(() => this.store.undo(running));
    this.#seen = this.#seen.filter(({ run_id }) => run_id !== running);
    this.running = null;
  }

  /** Deletes the newest run that has ended. */
  deleteEnded() {
    const ended = this.#seen.findLast(({ run_id }) => run_id !== this.running)?.run_id;
    if (ended === undefined) return;
    this.store.transaction(() => this.store.undo(ended));
    this.#seen = this.#seen.filter(({ run_id }) => run_id !== ended);
  }

  restart() {
    this.store = new ThreadStore(this.#storage);
  }

  #expect(run_id: string, event: string, data: unknown) {
    this.#last += 1;
    this.#seen.push({ id: this.#last, run_id, event, data: JSON.stringify(data) });
  }

  check() {
    const { events, runs } = this.store;
    const seen = (rows: Seen[]) =>
      rows.map(({ id, run_id, event, data }) => ({ id, run_id, event, data }));
    expect(events.lastId()).toBe(this.#last);
    expect(seen(events.pageOfAll(0))).toEqual(this.#seen.slice(0, 256));
    for (const run_id of new Set(this.#seen.slice(-4).map((one) => one.run_id))) {
      const own = this.#seen.filter((one) => one.run_id === run_id);
      expect(seen(events.page(run_id, 0))).toEqual(own);
      expect(runs.firstEvent(run_id)).toBe(own[0]?.id);
    }
    const newest = this.#seen.at(-1);
    if (newest) expect(events.runOf(newest.id)).toBe(newest.run_id);
    expect(events.oldestRun).toBe(this.#seen[0]?.run_id ?? null);
  }
}

test.each([1, 2, 3, 4, 5, 6])(
  "readers see the first event of a run at once, and the same after any step (%i)",
  async (seed) => {
    const { order } = await testThread();
    await inStorage((storage) => {
      const random = randomOf(seed);
      const thread = new Watched(storage, order);
      const upTo = (count: number) => Math.floor(random() * (count + 1));
      const actions = [
        ...[() => thread.start(), () => thread.start(), () => thread.failToStart()],
        ...[() => thread.commit(upTo(2), upTo(1)), () => thread.commit(0, 1)],
        ...[() => thread.end(upTo(2), random() < 0.5), () => thread.stop(), () => thread.undo()],
        ...[
          () => thread.deleteEnded(),
          () => thread.startAgain(),
          () => thread.restart(),
          () => thread.restart(),
        ],
      ];
      for (let step = 0; step < STEPS; step++) {
        actions[Math.floor(random() * actions.length)]?.();
        // A check reads the event without a row, and so would hide a step that needs to read it.
        if (random() < 0.5) thread.check();
      }
      thread.check();
    });
  },
);

test("values, interrupts, metadata and config of many bytes fit in the rows of a thread and its run", async () => {
  const { order } = await testThread();
  await inStorage((storage) => {
    const thread = new Watched(storage, order);
    const long = (characters: number) => "\u8a9e".repeat(characters);
    thread.store.transaction(() =>
      thread.store.thread.patch({ metadata: { long: long(250_000) } }),
    );
    thread.start();
    const run = thread.store.runs.get(thread.running ?? "");
    if (!run) throw new Error("No run is running");
    const values = JSON.stringify({ text: long(340_000) });
    const interrupts = JSON.stringify({ task: [{ id: "1", value: long(340_000) }] });
    const summary = { values, interrupts, next: ["ask"] } as never;
    thread.store.transaction(() => thread.store.endRun(run, { ...OVER, ops: [], summary }));
    thread.restart();
    expect(thread.store.thread.valuesText() === values).toBe(true);
    expect(JSON.stringify(thread.store.thread.interrupts()) === interrupts).toBe(true);
  });
});

test("the first event of a run has no row until the next batch", async () => {
  const { order } = await testThread();
  await inStorage((storage) => {
    const thread = new Watched(storage, order);
    const rows = () => storage.sql.exec("SELECT count FROM events ORDER BY last_id").toArray();
    thread.start();
    expect(rows()).toEqual([]);
    thread.commit(2, 1);
    expect(rows()).toEqual([{ count: 3 }]);
    thread.end(1, true);
    expect(rows()).toEqual([{ count: 3 }, { count: 2 }]);
  });
});
