import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { threadObject } from "../../../src/agent-server/threads/object/stub.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { stateUpdate } from "../../support/threads.ts";

/** An agent of which this is the body of `updateState`. Its state is the list `errors`. */
const agentOf = (body: string) => `import { WorkerEntrypoint } from "cloudflare:workers";
const errors = [];
const call = (work) => work().catch(({ message }) => errors.push(message));
const checkpoint = { thread_id: "1", checkpoint_id: "1", checkpoint_ns: "", checkpoint_map: null };
const summary = { values: "{}", next: [], interrupts: "{}" };
export class Agent extends WorkerEntrypoint {
  async updateState(_call, host) {
    ${body}
    return { ok: true, value: { checkpoint, summary, ops: [] } };
  }
  async getState() {
    return { ok: true, value: JSON.stringify(errors) };
  }
}`;

/** Updates the state of a new thread, and reads it until it is `errors`. */
async function expectErrors(body: string, errors: unknown[]) {
  const workspace_id = newId();
  const code = { module: agentOf(body), graphs: ["hostile"] };
  const revision = await testDeployment(workspace_id, {}, code);
  const { deployment_id } = revision;
  const thread_id = newId();
  const object = threadObject(env, deployment_id, thread_id);
  const metadata = { graph_id: "hostile" };
  await object.createThread({ thread_id, deployment_id, workspace_id, metadata, temporary: false });
  await object.updateState(stateUpdate({}, "hostile"), revision);
  await eventually(async () => {
    const place = { ns: "", checkpoint_id: null, subgraphs: false };
    const answer = await object.getState(place, revision);
    expect(answer.ok && JSON.parse(answer.value)).toEqual(errors);
  });
}

const ENDED = "This update has ended.";

test("the host of an update refuses calls after its end", async () => {
  const calls = `const later = host.dup();
    this.ctx.waitUntil(scheduler.wait(100).then(async () => {
      await call(() => later.commit([]));
      await call(() => later.store([]));
    }));`;
  await expectErrors(calls, [ENDED, ENDED]);
});

test("the host of an update refuses calls after invalid data", async () => {
  const calls = `await call(() => host.commit([{ op: "other" }]));
    await call(() => host.commit([]));`;
  await expectErrors(calls, [expect.stringMatching(/^ops\.0/), ENDED]);
});

test("the host of an update takes as many bytes as that of a run", async () => {
  // References to a text count with what they refer to, and need not be sent.
  const calls = `const trace = (inputs) =>
      ({ op: "trace", kind: "post", id: "1", open: null, data: "{}", texts: { inputs } });
    const bytes = 1024 * 1024;
    const part = trace({ of: 0, before: "", from: 0, chars: bytes, rest: "" });
    const ops = [trace({ id: 0, text: "x".repeat(bytes) }), ...Array(15).fill(part)];
    for (let n = 0; n < 100 && errors.length < 2; n++) await call(() => host.commit(ops));`;
  await expectErrors(calls, [
    expect.stringMatching(/^The update sent more than 1073741824/),
    ENDED,
  ]);
});
