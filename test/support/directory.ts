import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { DirectoryEntry } from "../../src/agent-server/threads/directory/entry.ts";
import type { DirectoryObject } from "../../src/agent-server/threads/directory/object.ts";
import { newId } from "../../src/shared/storage/ids.ts";
import { isMigrated } from "../../src/shared/storage/object-tables.ts";

type DirectoryTestRow = Omit<DirectoryEntry, "metadata" | "read_at" | "slot"> & {
  metadata: Record<string, unknown>;
};

export function directoryStub(deployment_id: string): DurableObjectStub<DirectoryObject> {
  return env.DIRECTORIES.getByName(deployment_id);
}

/** Returns what the directory of a deployment has, temporary threads too, in the order of creation. */
export function directoryRows(deployment_id: string): Promise<DirectoryTestRow[]> {
  return runInDurableObject(directoryStub(deployment_id), (_, { storage }) => {
    if (!isMigrated(storage)) return [];
    const rows = storage.sql.exec<DirectoryEntry>("SELECT * FROM threads ORDER BY id").toArray();
    return rows.map((row) => ({ ...row, metadata: JSON.parse(row.metadata) }));
  });
}

const START = Date.parse("2026-11-01T00:00:00.000Z");
export const at = (ms: number) => new Date(START + ms).toISOString();

export type EntryChange = Partial<Omit<DirectoryEntry, "metadata">> & {
  metadata?: Record<string, unknown>;
};

export function entryOf({ metadata = {}, ...change }: EntryChange): DirectoryEntry {
  return {
    ...{ thread_id: newId(), deployment_id: "d", workspace_id: "w", status: "idle" },
    ...{ created_at: at(0), updated_at: at(0), state_updated_at: null, digest: null },
    ...{
      slot: 0,
      seq: 1,
      is_temporary: 0,
      is_waiting: 1,
      read_at: Date.now(),
      metadata: JSON.stringify(metadata),
    },
    ...change,
  };
}
