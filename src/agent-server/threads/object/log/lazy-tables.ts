import { LazyTables } from "../../../../shared/storage/lazy-tables.ts";

/**
 * Tables that many threads never use. The key of a group is the name of its first table. Objects of earlier versions
 * may have tables that they do not use. `parts` holds data that outgrows a row, under a name that its owner derives.
 * The id of a segment may be assigned again after no row refers to it. AUTOINCREMENT would prevent that, and write a
 * second row for each segment.
 */
export const LAZY_TABLES = {
  channel_values: `CREATE TABLE IF NOT EXISTS channel_values (
     ns TEXT NOT NULL,
     channel TEXT NOT NULL,
     version INTEGER NOT NULL,
     run_id TEXT,
     type TEXT NOT NULL,
     data BLOB,
     segments TEXT,
     PRIMARY KEY (ns, channel, version)
   ) WITHOUT ROWID;
   CREATE TABLE IF NOT EXISTS value_segments (
     id INTEGER PRIMARY KEY,
     data BLOB NOT NULL
   )`,
  event_segments: `CREATE TABLE IF NOT EXISTS event_segments (
     id INTEGER PRIMARY KEY,
     data BLOB NOT NULL
   )`,
  writes: `CREATE TABLE IF NOT EXISTS writes (
     ns TEXT NOT NULL,
     checkpoint_id TEXT NOT NULL,
     task_id TEXT NOT NULL,
     path TEXT NOT NULL,
     idx INTEGER NOT NULL,
     run_id TEXT,
     channel TEXT NOT NULL,
     type TEXT NOT NULL,
     data BLOB,
     PRIMARY KEY (ns, checkpoint_id, task_id, idx)
   ) WITHOUT ROWID`,
  replaced_writes: `CREATE TABLE IF NOT EXISTS replaced_writes (
     ns TEXT NOT NULL,
     checkpoint_id TEXT NOT NULL,
     task_id TEXT NOT NULL,
     path TEXT NOT NULL,
     idx INTEGER NOT NULL,
     run_id TEXT,
     channel TEXT NOT NULL,
     type TEXT NOT NULL,
     data BLOB,
     by_run TEXT NOT NULL
   )`,
  parts: `CREATE TABLE IF NOT EXISTS parts (
     name TEXT NOT NULL,
     part INTEGER NOT NULL,
     data BLOB NOT NULL,
     PRIMARY KEY (name, part)
   ) WITHOUT ROWID`,
  trace_outbox: `CREATE TABLE IF NOT EXISTS trace_outbox (
     seq INTEGER PRIMARY KEY,
     ops TEXT
   )`,
  webhook_outbox: `CREATE TABLE IF NOT EXISTS webhook_outbox (
     run_id TEXT PRIMARY KEY,
     url TEXT NOT NULL,
     payload TEXT,
     user TEXT
   )`,
  ended_runs: `CREATE TABLE IF NOT EXISTS ended_runs (
     run_id TEXT PRIMARY KEY,
     thread_id TEXT NOT NULL,
     metadata TEXT NOT NULL,
     ended_at INTEGER NOT NULL,
     events TEXT NOT NULL
   ) WITHOUT ROWID`,
};

export type ThreadTables = LazyTables<keyof typeof LAZY_TABLES>;

export function threadTables(sql: SqlStorage): ThreadTables {
  return new LazyTables(sql, LAZY_TABLES);
}
