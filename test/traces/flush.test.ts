import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { newId } from "../../src/shared/storage/ids.ts";
import { toIncoming } from "../../src/traces/ingest/incoming.ts";
import { tracePartition } from "../../src/traces/object/stub.ts";
import { wireRun } from "./support/runs.ts";

test("a busy object writes its counts to D1 each five seconds, a quiet one within a second", async () => {
  const partition = { project_id: newId(), day: "2026-02-04", slot: 0 };
  const stub = env.PARTITIONS.getByName(`${partition.project_id}/${partition.day}/0`);
  const ingest = async () => {
    const run = wireRun("busy", {}, { at: Date.parse("2026-02-04T12:00:00Z") });
    const { session_id: _, session_name: __, ...change } = toIncoming(run, "post", []);
    await tracePartition(env, partition).ingest(partition, [change], false);
  };
  const alarm = () => runInDurableObject(stub, (_, { storage }) => storage.getAlarm());
  let now = Date.now() + 3_600_000;
  vi.spyOn(Date, "now").mockImplementation(() => now);

  await ingest();
  expect(await alarm()).toBe(now + 1000);
  now += 1000;
  await runDurableObjectAlarm(stub);
  const flushed_at = now;

  now += 500;
  await ingest();
  now += 500;
  await ingest();
  expect(await alarm()).toBe(flushed_at + 5000);
  now = flushed_at + 5000;
  await runDurableObjectAlarm(stub);

  now += 60_000;
  await ingest();
  expect(await alarm()).toBe(now + 1000);
});
