import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { EVERY_RUN } from "../../../src/traces/rows/run-source.ts";
import { ColdStorage } from "../../../src/traces/storage/cold-storage.ts";
import { PartitionStore } from "../../../src/traces/storage/partition.ts";
import { partition, type Scene, sealedKeys } from "../../exports/support/sealed.ts";
import { eventually } from "../../support/eventually.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** Does work with the clock of a later day. Requests to S3 need the real one. */
export async function after<T>(days: number, work: () => Promise<T>): Promise<T> {
  const at = Date.now() + days * DAY_MS;
  const clock = vi.spyOn(Date, "now").mockImplementation(() => at);
  try {
    return await work();
  } finally {
    clock.mockRestore();
  }
}

/** Runs the alarm, also one that is set for later. */
export async function wake(of: Scene): Promise<void> {
  await runInDurableObject(partition(of), (_, { storage }) =>
    storage.setAlarm(Date.now() + DAY_MS),
  );
  await runDurableObjectAlarm(partition(of));
}

/** Number of bodies in the object and only in R2, the keys that the object knows, its size. */
export function bodies(of: Scene) {
  return runInDurableObject(partition(of), (_, { storage: { sql } }) => {
    const sizes = sql.exec<{ bytes: number }>("SELECT length(body) AS bytes FROM segments");
    const known = sql.exec<{ key: string }>("SELECT key FROM cold_bodies ORDER BY key");
    const all = sizes.toArray();
    const hot = all.filter(({ bytes }) => bytes > 0).length;
    const keys = known.toArray().map(({ key }) => key);
    return { hot, cold: all.length - hot, keys, bytes: sql.databaseSize };
  });
}

/** Moves the bodies to R2. The alarm of the last change may run already. */
export function cool(of: Scene) {
  return eventually(async () => {
    await after(2, () => wake(of));
    const found = await bodies(of);
    expect(found).toMatchObject({ hot: 0, keys: await sealedKeys(of) });
    expect(found.cold).toBeGreaterThan(1);
    return found;
  });
}

/** Brings all bodies back, as if they had never been in R2. Returns the runs. */
export async function warm(of: Scene) {
  const runs = await runInDurableObject(partition(of), async (_, { storage }) => {
    const store = new PartitionStore(storage);
    const all = await new ColdStorage(env, storage, store).attempt(() =>
      [...store.runs.live({ ...EVERY_RUN, order: "asc" })].map((run) => [
        ...[run.id, run.name, run.changed_seq],
        ...[run.inputs, run.outputs, run.extra],
      ]),
    );
    store.segments.cold.forgetAll();
    storage.kv.delete("cold");
    return all;
  });
  await evictDurableObject(partition(of));
  return runs;
}
