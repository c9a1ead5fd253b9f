import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { ID_BYTES, readUuid } from "../../../src/traces/segments/codec/uuids.ts";

type Row = { project_id: string; day: string; keys: ArrayBuffer };
export type StoredLocation = { slot: number; project_id: string; day: string; id: string };

/** Returns the locations of a workspace in its first objects, read after a restart of each. */
export async function locationsOf(workspace_id: string, slots = 1): Promise<StoredLocation[]> {
  const found: StoredLocation[] = [];
  for (let slot = 0; slot < slots; slot++) {
    const stub = env.LOCATIONS.getByName(`${workspace_id}/${slot}`);
    await stub.find([]);
    await evictDurableObject(stub);
    const rows = await runInDurableObject(stub, (_, { storage }) => {
      const tables = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'locations'");
      return tables.toArray().length === 0
        ? []
        : storage.sql.exec<Row>("SELECT project_id, day, keys FROM locations").toArray();
    });
    for (const { keys, ...home } of rows) {
      for (let at = 0; at < keys.byteLength; at += ID_BYTES) {
        found.push({ slot, ...home, id: readUuid(new Uint8Array(keys), at) });
      }
    }
  }
  return found;
}
