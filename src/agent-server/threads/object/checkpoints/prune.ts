import type { ThreadTables } from "../log/lazy-tables.ts";
import { Segments, VALUE_SEGMENTS } from "../log/segments.ts";
import { CHECKPOINT_COLUMNS, type CheckpointColumns, fromColumns } from "./row-format.ts";
import { valueKeysOf } from "./stored-keys.ts";

/** `values`: keys of the values that the checkpoint refers to. */
type Head = { ns: string; checkpoint_id: string; metadata: string; values: Set<string> };

/**
 * Deletes a thread's history except its latest state: the newest checkpoint of its graph, and of its subgraphs that are
 * interrupted or persist state between runs. Deletes nothing when one of these has a DeltaChannel.
 */
export function keepLatest(tables: ThreadTables) {
  const { sql } = tables;
  const heads = headsOf(sql);
  const root = heads.find(({ ns }) => ns === "");
  if (!root) return;
  const kept = heads.filter((head) => isKept(head, root.checkpoint_id));
  if (kept.some(needsHistory)) return;
  const keys = JSON.stringify(kept.map(({ ns, checkpoint_id }) => `${ns} ${checkpoint_id}`));
  const isKeptRow = "ns || ' ' || checkpoint_id IN (SELECT value FROM json_each(?))";
  sql.exec(`DELETE FROM checkpoints WHERE NOT ${isKeptRow}`, keys);
  for (const table of ["writes", "replaced_writes"] as const) {
    if (tables.has(table)) sql.exec(`DELETE FROM ${table} WHERE NOT ${isKeptRow}`, keys);
  }
  sql.exec("UPDATE checkpoints SET parent_id = NULL");
  if (tables.has("channel_values")) {
    const values = kept.flatMap((head) => [...head.values].map((key) => `${head.ns} ${key}`));
    sql.exec(
      `DELETE FROM channel_values WHERE ns || ' ' || version || ' ' || channel NOT IN (
         SELECT value FROM json_each(?))`,
      JSON.stringify(values),
    );
    new Segments(tables, VALUE_SEGMENTS).dropUnused();
  }
  if (tables.has("parts")) deleteOrphanedParts(tables);
}

/** Returns the newest checkpoint of each namespace. */
function headsOf(sql: SqlStorage): Head[] {
  const rows = sql.exec<CheckpointColumns>(
    `SELECT ${CHECKPOINT_COLUMNS} FROM checkpoints AS newest
     WHERE checkpoint_id = (SELECT max(checkpoint_id) FROM checkpoints WHERE ns = newest.ns)`,
  );
  const heads: Head[] = [];
  for (const columns of rows) {
    const { ns, checkpoint_id, metadata, checkpoint } = fromColumns(columns);
    heads.push({ ns, checkpoint_id, metadata, values: valueKeysOf({ checkpoint }) });
  }
  return heads;
}

/** Names follow `valueName` of `channel-values.ts` and `writeName` of `pending-writes.ts`. */
function deleteOrphanedParts(tables: ThreadTables) {
  const { sql } = tables;
  if (tables.has("channel_values"))
    sql.exec(
      `DELETE FROM parts WHERE name LIKE 'value %' AND name NOT IN (
       SELECT 'value ' || ns || ' ' || channel || ' ' || version FROM channel_values
       WHERE data IS NULL)`,
    );
  if (tables.has("writes"))
    sql.exec(
      `DELETE FROM parts WHERE name LIKE 'write %' AND name NOT IN (
       SELECT 'write ' || ns || ' ' || checkpoint_id || ' ' || task_id || ' ' || idx FROM writes
       WHERE data IS NULL)`,
    );
}

/** Namespaces without task ids belong to subgraphs that persist state between runs. */
function isKept({ ns, metadata }: Head, root_id: string): boolean {
  if (ns === "" || !ns.includes(":")) return true;
  const { parents } = JSON.parse(metadata) as { parents?: Record<string, string> };
  return parents?.[""] === root_id;
}

/** A DeltaChannel is computed from the writes of earlier checkpoints. */
function needsHistory({ metadata }: Head): boolean {
  return "counters_since_delta_snapshot" in (JSON.parse(metadata) as object);
}
