import { env, RpcTarget } from "cloudflare:workers";
import { expect, test } from "vitest";
import { agentIsolate } from "../../../src/control-plane/deployments/isolate/isolate.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import type {
  AgentEntrypoint,
  Host,
  LoadedCheckpoint,
  Op,
  RunCall,
  StoredValue,
} from "../../fixtures/artifacts/contract-2.ts";
import { testDeployment } from "../../support/agent-deployment.ts";

/** The thread of a Worker of the frozen contract: it knows the fields of that contract only. */
class FrozenThread extends RpcTarget implements Host {
  readonly ops: Op[] = [];
  readonly #values: StoredValue[] = [];
  readonly #checkpoints: LoadedCheckpoint[] = [];

  get head(): LoadedCheckpoint | null {
    return this.#checkpoints.filter(({ ns }) => ns === "").at(-1) ?? null;
  }

  async commit(ops: Op[]) {
    for (const op of ops) {
      this.ops.push(op);
      if (op.op === "checkpoint") this.#add(op);
      if (op.op === "writes") this.#find(op.ns, op.checkpoint_id)?.writes.push(...op.writes);
    }
  }

  #add({ op: _, values, ...checkpoint }: Extract<Op, { op: "checkpoint" }>) {
    this.#values.push(...values);
    const versions = Object.entries(JSON.parse(checkpoint.checkpoint).channel_versions ?? {});
    const loaded = versions.flatMap(([name, version]) =>
      this.#values.filter((each) => each.channel === name && each.version === version),
    );
    this.#checkpoints.push({ ...checkpoint, values: loaded, writes: [] });
  }

  #find(ns: string, id: string | null): LoadedCheckpoint | null {
    const matching = this.#checkpoints.filter(
      (each) => each.ns === ns && (id === null || each.checkpoint_id === id),
    );
    return matching.at(-1) ?? null;
  }

  async readCheckpoint(ns: string, id: string | null) {
    return this.#find(ns, id);
  }

  async listCheckpoints({ ns = "", limit = 16 }) {
    return this.#checkpoints
      .filter((each) => each.ns === ns)
      .reverse()
      .slice(0, limit);
  }

  async authenticate() {
    return { status: 401, body: "{}", retry_after_seconds: null };
  }

  async store() {
    return { ok: true as const, results: [null] };
  }

  cancelled() {
    return new Promise<boolean>(() => {});
  }
}

function toCall(thread: FrozenThread, fields: Partial<RunCall>): RunCall {
  const run_id = newId();
  const start_time = new Date().toISOString();
  const dotted_order = `${start_time.replaceAll(/[-:.]/g, "").replace("Z", "000Z")}${run_id}`;
  return {
    run_id,
    thread_id: "00000000-0000-4000-8000-000000000000",
    graph_id: "ask",
    resuming: false,
    input: null,
    command: null,
    strict_resume: false,
    config: {},
    context: null,
    stream_modes: ["values", "updates", "custom"],
    stream_subgraphs: false,
    short_forms: false,
    interrupt_before: null,
    interrupt_after: null,
    durability: "async",
    head: thread.head,
    trace: { start_time, dotted_order, metadata: {}, root_metadata: { queue_wait_ms: 0 } },
    ...fields,
  };
}

test("an agent that is built today answers a Worker of the frozen contract", async () => {
  const revision = await testDeployment(newId());
  const agent = agentIsolate(env, revision) as unknown as AgentEntrypoint;
  const thread = new FrozenThread();
  const run = async (fields: Partial<RunCall>) => {
    const outcome = await agent.run(toCall(thread, fields), thread);
    expect(outcome.failure).toBeNull();
    await thread.commit(outcome.ops);
    return outcome;
  };
  expect(await agent.describe()).toMatchObject({ ok: true });
  const paused = await run({ input: { log: ["before"] } });
  expect(paused.summary?.next).toEqual(["ask"]);
  expect(Object.values(JSON.parse(paused.summary?.interrupts ?? ""))).toMatchObject([
    [{ value: { question: "go on?" } }],
  ]);
  const state = await agent.getState(
    { ...toCall(thread, {}), ns: "", checkpoint_id: null, subgraphs: false },
    thread,
  );
  expect(state.ok && JSON.parse(state.value)).toMatchObject({ values: { log: ["before"] } });

  const resumed = await run({ command: { resume: "yes" } });
  expect(resumed.summary?.next).toEqual([]);
  expect(JSON.parse(resumed.summary?.values ?? "").log).toEqual(["before", "answer: yes", "done"]);
  const kinds = new Set(thread.ops.map(({ op }) => op));
  expect([...kinds].sort()).toEqual(["checkpoint", "event", "trace", "writes"]);
});
