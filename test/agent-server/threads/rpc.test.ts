import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { applyToStore } from "../../../src/agent-server/store/service.ts";
import { stateUpdate, testThread } from "../../support/threads.ts";

// Receivers of a result with a disposer must call it, and ours do not.
test("a result of a thread reaches its callers without a disposer", async () => {
  const { thread_id, revision, create, join } = await testThread();
  const { run_id } = await create("echo", {
    input: { messages: [{ role: "user", content: "hi" }] },
  });
  await join(run_id);
  const { deployment_id } = revision;
  const stub = env.THREADS.getByName(`${deployment_id}/${thread_id}`);
  const disposable = await runInDurableObject(stub, async (thread) => {
    const state = { ns: "", checkpoint_id: null, subgraphs: false };
    const history = { ...state, limit: 10, before_id: null, metadata: {}, select: null };
    const answers = [
      await thread.call(null, { method: "getState", args: [state, revision] }),
      await thread.call(null, { method: "getHistory", args: [history, revision] }),
      await thread.call(null, {
        method: "updateState",
        args: [stateUpdate({}, "nobody"), revision],
      }),
      await applyToStore(env, deployment_id, []),
    ];
    return answers.map((answer) => Symbol.dispose in Object(answer));
  });
  expect(disposable).toEqual([false, false, false, false]);
});
