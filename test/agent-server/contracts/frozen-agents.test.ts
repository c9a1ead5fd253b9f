import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { type Artifact, CONTRACT } from "../../../src/control-plane/builds/contract.ts";
import { getRevision } from "../../../src/control-plane/deployments/api/revision-service.ts";
import { ensureTracingProject } from "../../../src/control-plane/deployments/api/service.ts";
import { readRevisionCode } from "../../../src/control-plane/deployments/isolate/revision-code.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { RunsQueryRequest } from "../../../src/traces/query/query-schema.ts";
import { queryRuns } from "../../../src/traces/query/query-service.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { systemContext } from "../../support/deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { EVERYTHING, namesOf, readEvents, stateUpdate, testThread } from "../../support/threads.ts";

async function frozen(contract: number): Promise<Artifact> {
  const response = await env.FROZEN.fetch(`http://frozen/${contract}`);
  return response.json<Artifact>();
}

/** A thread of an agent that an earlier version has built. */
async function threadOf(artifact: Artifact) {
  const workspace_id = newId();
  const code = { artifact, graphs: ["frozen"] };
  const revision = testDeployment(workspace_id, {}, code);
  return testThread(revision.then((ready) => ({ workspace_id, revision: ready })));
}

type Thread = Awaited<ReturnType<typeof threadOf>>;

async function stateOf({ object, revision }: Thread) {
  const call = { ns: "", checkpoint_id: null, subgraphs: false };
  const state = await object.getState(call, revision);
  if (!state.ok) throw new Error(JSON.stringify(state.error));
  return JSON.parse(state.value);
}

async function tracesOf({ place }: Thread, run_id: string) {
  const ctx = systemContext(place.workspace_id);
  const session = [await ensureTracingProject(ctx, place.deployment_id)];
  const request = RunsQueryRequest.parse({ session, trace: run_id });
  return (await queryRuns(ctx, request)).runs;
}

const CONTRACTS = Array.from({ length: CONTRACT }, (_, n) => n + 1).slice(-3);

test.each(CONTRACTS)(
  "an agent of contract %s streams, stores, waits for an answer and resumes",
  async (contract) => {
    const thread = await threadOf(await frozen(contract));
    const { object, revision, order } = thread;
    const stream_mode = ["values", "updates", "custom", "messages", "debug"];
    const first = order("frozen", { input: { log: [] }, stream_mode });
    const started = await object.streamRun(first, EVERYTHING);
    if (!started.ok) throw new Error(started.refusal);
    const events = await readEvents(started.events);
    expect(namesOf(events)).not.toContain("error");
    expect(events).toContainEqual(
      expect.objectContaining({ event: "custom", data: { noted: "a" } }),
    );
    expect(events).toContainEqual(
      expect.objectContaining({ event: "updates", data: { note: { log: ["noted"] } } }),
    );

    expect((await object.getThread())?.status).toBe("interrupted");
    const waiting = await stateOf(thread);
    expect(waiting.next).toEqual(["approve"]);
    expect(waiting.tasks).toContainEqual(
      expect.objectContaining({
        name: "approve",
        interrupts: [expect.objectContaining({ value: "Go on?" })],
      }),
    );

    const values = await thread.wait("frozen", { command: { resume: "yes" } });
    expect(values.log).toEqual(["noted", "answered yes", "beside", "from the store"]);
    const updated = await object.updateState(stateUpdate({ log: ["by hand"] }, "recall"), revision);
    expect(updated.ok).toBe(true);
    expect((await stateOf(thread)).values.log).toContain("by hand");

    await eventually(async () => {
      const names = (await tracesOf(thread, first.run_id)).map(({ name }) => name);
      expect(names).toEqual(expect.arrayContaining(["frozen", "note", "beside", "approve"]));
    });
  },
);

test.each([
  [
    CONTRACT + 1,
    `newer Heddle (contract ${CONTRACT + 1};`,
    "upgrade Heddle, or create a new revision",
  ],
  [0, "older Heddle (contract 0;", "create a new revision"],
])(
  "an agent of contract %s is refused with the remedy, after one attempt",
  async (contract, reason, remedy) => {
    const thread = await threadOf({ ...(await frozen(CONTRACT)), contract });
    const { object, revision, wait, order } = thread;
    const { run_id } = order("frozen");
    const { __error__: error } = await wait("frozen", { input: { log: [] } }, run_id);
    expect(error.error).toBe("UnsupportedContractError");
    expect(error.message).toContain(reason);
    expect(error.message).toContain(remedy);
    const events = await object.followRun(run_id, EVERYTHING);
    const attempts = namesOf(await readEvents(events ?? new ReadableStream())).filter(
      (name) => name === "metadata",
    );
    expect(attempts).toHaveLength(1);
    const state = await object.getState(
      { ns: "", checkpoint_id: null, subgraphs: false },
      revision,
    );
    expect(state).toMatchObject({ ok: false, error: { message: error.message } });

    const ctx = systemContext(thread.place.workspace_id);
    const messageOf = async () => (await getRevision(ctx, revision, "")).status_message;
    expect(await messageOf()).toBe(error.message);
    // The Heddle that runs this contract again.
    await env.ARTIFACTS.put(
      `artifacts/${revision.revision_id}.json`,
      JSON.stringify(await frozen(1)),
    );
    await readRevisionCode(env, revision);
    expect(await messageOf()).toBeNull();
  },
);
