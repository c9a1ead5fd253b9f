import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { ThreadRecord } from "../../../src/agent-server/threads/contract/records.ts";
import { testThread } from "../../support/threads.ts";

const MIB = 1024 * 1024;
const ALL_MODES = ["values", "updates", "tasks", "checkpoints", "debug", "messages-tuple"];

test.each([
  { mib: 1, steps: 70, durability: "async", stream_mode: ["values"] },
  { mib: 0.25, steps: 80, durability: "sync", stream_mode: ALL_MODES },
  { mib: 0.25, steps: 80, durability: "exit", stream_mode: ALL_MODES },
  { mib: 6, steps: 6, durability: "async", stream_mode: ["values"] },
])("$steps steps with a state of $mib MiB, $durability, $stream_mode", async (example) => {
  const { mib, steps, durability, stream_mode } = example;
  const thread = await testThread();
  const document = "x".repeat(mib * MIB);
  const input = { n: 0, steps, document };
  const config = { recursion_limit: steps + 1 };
  const { run_id } = await thread.create("loops", { input, config, durability, stream_mode });
  await thread.join(run_id);
  const { status, error, values } = (await thread.object.getThread()) as ThreadRecord;
  expect([status, error]).toEqual(["idle", null]);
  expect(values).toMatchObject({ n: steps });
  const { deployment_id, thread_id } = thread.place;
  const stub = env.THREADS.getByName(`${deployment_id}/${thread_id}`);
  const [run] = await runInDurableObject(stub, (_object, { storage }) =>
    storage.sql.exec("SELECT event_characters AS characters FROM runs").toArray(),
  );
  // Once for each mode that shows the state: values, checkpoints, tasks, debug.
  expect(run?.characters).toBeLessThan(8 * mib * MIB);
});
