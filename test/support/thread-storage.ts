import { planRun } from "../../src/agent-server/threads/object/loop/run-plan.ts";
import { ThreadStore } from "../../src/agent-server/threads/object/storage/store.ts";
import { beginTrace } from "../../src/agent-server/threads/object/storage/trace-roots.ts";
import { newId } from "../../src/shared/storage/ids.ts";
import type { testThread } from "./threads.ts";

type Order = Awaited<ReturnType<typeof testThread>>["order"];

/** Creates a thread in the storage of an object, which no calls reach. */
export function newStore(storage: DurableObjectStorage): ThreadStore {
  const store = new ThreadStore(storage);
  createThread(store);
  return store;
}

export function createThread(store: ThreadStore): void {
  const place = { thread_id: newId(), deployment_id: newId(), workspace_id: newId() };
  store.create({ ...place, metadata: {}, temporary: false, ttl: null } as never);
}

/** Starts a run that no isolate executes. */
export function startRun(store: ThreadStore, order: Order): string {
  const request = order("echo");
  const { run_id } = request;
  const plan = planRun(store, request);
  if (typeof plan === "string") throw new Error(plan);
  store.transaction(() => {
    store.runs.insert(request, plan.merged, store.thread.snapshot());
    store.runs.start(run_id, "version");
    const run = store.runs.get(run_id);
    if (!run) return;
    store.beginAttempt(run);
    store.traces.setOpen(run_id, beginTrace(run, run.created_at));
  });
  return run_id;
}
