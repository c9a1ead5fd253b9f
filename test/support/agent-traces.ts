import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { ThreadObject } from "../../src/agent-server/threads/object/object.ts";
import { ensureTracingProject } from "../../src/control-plane/deployments/api/service.ts";
import { type Caller, contextFor } from "../../src/shared/context.ts";
import { newId } from "../../src/shared/storage/ids.ts";
import { RunsQueryRequest } from "../../src/traces/query/query-schema.ts";
import { queryRuns } from "../../src/traces/query/query-service.ts";
import { eventually } from "./eventually.ts";
import { pendingTraces } from "./pending-traces.ts";
import type { testThread } from "./threads.ts";

type Thread = Awaited<ReturnType<typeof testThread>>;
type TestThread = Thread["place"];

export function contextOf({ workspace_id }: TestThread) {
  const caller: Caller = {
    organization_id: newId(),
    workspace_id,
    role: "admin",
    plan: "developer",
    actor: { type: "system", job: "test" },
  };
  return contextFor(env, caller);
}

export function stubOf({ deployment_id, thread_id }: TestThread) {
  return env.THREADS.getByName(`${deployment_id}/${thread_id}`) as DurableObjectStub<ThreadObject>;
}

export function waiting(place: TestThread) {
  return runInDurableObject(stubOf(place), (_instance, { storage }) => ({
    outbox: pendingTraces(storage.sql),
    roots: storage.sql.exec("SELECT run_id FROM runs WHERE trace IS NOT NULL").toArray().length,
  }));
}

export async function delivered(place: TestThread) {
  await eventually(async () => expect(await waiting(place)).toEqual({ outbox: 0, roots: 0 }));
}

export async function read(place: TestThread, query: Record<string, unknown>) {
  const ctx = contextOf(place);
  const session = [await ensureTracingProject(ctx, place.deployment_id)];
  const { runs } = await queryRuns(
    ctx,
    RunsQueryRequest.parse({ session, order: "asc", ...query }),
  );
  return runs;
}

/** Returns the trace of a run once it is delivered. */
export async function treeOf({ place }: Thread, run_id: string) {
  await delivered(place);
  return read(place, { trace: run_id });
}
