import { beforeAll, describe, expect, test } from "vitest";
import { testDeployment } from "../../support/agent-deployment.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

const RUN = { assistant_id: "steps", input: {} };
const UNKNOWN = "1f0a2b3c-4d5e-6f60-8001-2c3d4e5f6071";

let ours: TestWorkspace;
let deployment_id: string;

beforeAll(async () => {
  ours = await workspace();
  ({ deployment_id } = await testDeployment(ours.workspace_id));
});

const send = (path: string, json?: unknown) =>
  api(`/agents/${deployment_id}${path}`, {
    key: ours.editor,
    ...(json !== undefined && { json }),
  });

type State = { values: object; checkpoint: { checkpoint_id: string } };

/** A thread with one run of three steps. */
async function threadWithState() {
  const { thread_id } = await (await send("/threads", {})).json<{ thread_id: string }>();
  const path = `/threads/${thread_id}`;
  const ended = await send(`${path}/runs/wait`, RUN);
  expect([ended.status, await ended.json()]).toEqual([200, { log: ["a", "b", "c"] }]);
  const state = async () => (await send(`${path}/state`)).json<State>();
  return { path, thread_id, state };
}

const at = (checkpoint_id: string) => ({ checkpoint: { checkpoint_id, checkpoint_ns: "" } });

describe("a checkpoint that the thread does not have is a 404 that names it, and changes nothing", () => {
  test.each([
    ["a run", "/runs/wait", { ...RUN, ...at(UNKNOWN) }],
    ["a run by its id", "/runs", { ...RUN, checkpoint_id: UNKNOWN }],
    [
      "a run by its config",
      "/runs",
      { ...RUN, config: { configurable: { checkpoint_id: UNKNOWN } } },
    ],
    ["a stream", "/runs/stream", { ...RUN, ...at(UNKNOWN) }],
    ["an update", "/state", { values: { log: ["x"] }, ...at(UNKNOWN) }],
    ["a read", "/state/checkpoint", at(UNKNOWN)],
    ["a read by its id", `/state/${UNKNOWN}`, undefined],
  ])("%s", async (_, path, json) => {
    const thread = await threadWithState();
    const before = await thread.state();
    const response = await send(`${thread.path}${path}`, json);
    const text = `Checkpoint ${UNKNOWN} not found in thread ${thread.thread_id}`;
    expect([response.status, await response.text()]).toEqual([404, text]);
    expect(await thread.state()).toEqual(before);
  });

  test("of another thread", async () => {
    const [one, other] = [await threadWithState(), await threadWithState()];
    const { checkpoint } = await other.state();
    const run = { ...RUN, ...at(checkpoint.checkpoint_id) };
    expect((await send(`${one.path}/runs/wait`, run)).status).toBe(404);
    expect((await send(`${other.path}/runs/wait`, run)).status).toBe(200);
  });

  test("in a thread that the run would create", async () => {
    const path = `/threads/${crypto.randomUUID()}`;
    const run = { ...RUN, ...at(UNKNOWN), if_not_exists: "create" };
    expect((await send(`${path}/runs`, run)).status).toBe(404);
    expect((await send(path)).status).toBe(404);
  });

  test("after the thread is pruned", async () => {
    const thread = await threadWithState();
    const history = await (await send(`${thread.path}/history`, {})).json<State[]>();
    const first = history.at(-1)?.checkpoint.checkpoint_id ?? "";
    const prune = { thread_ids: [thread.thread_id], strategy: "keep_latest" };
    expect((await send("/threads/prune", prune)).status).toBe(200);
    expect((await send(`${thread.path}/runs/wait`, { ...RUN, ...at(first) })).status).toBe(404);
  });
});
