import { Segments } from "./segments.ts";

type Head = { ns: string; checkpoint_id: string; metadata: string };

/**
 * Deletes a thread's history except its latest state: the newest checkpoint of its graph, and of its
 * subgraphs that are interrupted or persist state between runs.
 */
export function keepLatest(sql: SqlStorage) {
  const heads = sql
    .exec<Head>(
      `SELECT ns, checkpoint_id, metadata FROM checkpoints AS newest
       WHERE checkpoint_id = (SELECT max(checkpoint_id) FROM checkpoints WHERE ns = newest.ns)`,
    )
    .toArray();
  const root = heads.find(({ ns }) => ns === "");
  if (!root || needsHistory(root)) return;
  const kept = heads.filter((head) => isKept(head, root.checkpoint_id));
  const keys = JSON.stringify(kept.map(({ ns, checkpoint_id }) => `${ns} ${checkpoint_id}`));
  const isKeptRow = "ns || ' ' || checkpoint_id IN (SELECT value FROM json_each(?))";
  sql.exec(`DELETE FROM checkpoints WHERE NOT ${isKeptRow}`, keys);
  sql.exec(`DELETE FROM writes WHERE NOT ${isKeptRow}`, keys);
  sql.exec(`DELETE FROM replaced_writes WHERE NOT ${isKeptRow}`, keys);
  sql.exec("UPDATE checkpoints SET parent_id = NULL");
  sql.exec(
    `DELETE FROM channel_values WHERE NOT EXISTS (
       SELECT 1 FROM checkpoints, json_each(checkpoints.checkpoint, '$.channel_versions') AS wanted
       WHERE checkpoints.ns = channel_values.ns AND wanted.key = channel_values.channel
         AND wanted.value = channel_values.version)`,
  );
  new Segments(sql, "value_segments", "channel_values").dropUnused();
  deleteOrphanedParts(sql);
}

/** Names follow `valueName` of `ChannelValues` and `writeName` of `Checkpoints`. */
function deleteOrphanedParts(sql: SqlStorage) {
  sql.exec(
    `DELETE FROM parts WHERE name LIKE 'value %' AND name NOT IN (
       SELECT 'value ' || ns || ' ' || channel || ' ' || version FROM channel_values
       WHERE data IS NULL)`,
  );
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
