import { schemaOf } from "../../../../shared/storage/object-tables.ts";

/**
 * Tables that each thread has. Append only: the version is the number of steps that ran. A table WITHOUT ROWID writes
 * one billed row for each of its rows; the index of a text key beside the rowid would write a second one.
 */
export const MIGRATIONS = [
  `CREATE TABLE thread (
     only INTEGER PRIMARY KEY CHECK (only = 1),
     thread_id TEXT NOT NULL,
     deployment_id TEXT NOT NULL,
     workspace_id TEXT NOT NULL,
     created_at TEXT NOT NULL,
     updated_at TEXT NOT NULL,
     state_updated_at TEXT,
     status TEXT NOT NULL,
     metadata TEXT NOT NULL,
     config TEXT NOT NULL,
     "values" TEXT,
     interrupts TEXT NOT NULL,
     error TEXT,
     temporary INTEGER NOT NULL,
     ended_at INTEGER,
     revision TEXT,
     directory_seq INTEGER NOT NULL,
     directory_sent INTEGER,
     ttl TEXT
   );
   CREATE TABLE runs (
     run_id TEXT PRIMARY KEY,
     seq INTEGER NOT NULL,
     assistant_id TEXT NOT NULL,
     graph_id TEXT NOT NULL,
     status TEXT NOT NULL,
     multitask_strategy TEXT NOT NULL,
     metadata TEXT NOT NULL,
     kwargs TEXT,
     revision TEXT NOT NULL,
     created_at TEXT NOT NULL,
     updated_at TEXT NOT NULL,
     due_at INTEGER NOT NULL,
     ended_at INTEGER,
     attempt INTEGER NOT NULL,
     event_characters INTEGER NOT NULL,
     error TEXT,
     cancel_reason TEXT,
     created_by TEXT NOT NULL,
     trace TEXT,
     started_at INTEGER,
     thread_snapshot TEXT,
     webhook TEXT,
     interrupts TEXT,
     first_event INTEGER,
     request_sha256 TEXT
   ) WITHOUT ROWID;
   CREATE TABLE events (
     last_id INTEGER PRIMARY KEY,
     run_id TEXT NOT NULL,
     count INTEGER NOT NULL,
     events TEXT,
     segments TEXT,
     at INTEGER
   );
   CREATE TABLE checkpoints (
     ns TEXT NOT NULL,
     checkpoint_id TEXT NOT NULL,
     parent_id TEXT,
     run_id TEXT,
     checkpoint TEXT NOT NULL,
     metadata TEXT NOT NULL,
     PRIMARY KEY (ns, checkpoint_id)
   ) WITHOUT ROWID;`,
  `ALTER TABLE checkpoints ADD COLUMN inline_values BLOB;
   ALTER TABLE checkpoints ADD COLUMN inline_writes BLOB;`,
  `ALTER TABLE checkpoints ADD COLUMN body BLOB;
   ALTER TABLE runs ADD COLUMN request BLOB;`,
  "ALTER TABLE runs ADD COLUMN losses INTEGER NOT NULL DEFAULT 0;",
  "ALTER TABLE runs ADD COLUMN version TEXT;",
  `ALTER TABLE events ADD COLUMN traces BLOB;
   ALTER TABLE events ADD COLUMN progress TEXT;
   ALTER TABLE runs ADD COLUMN progress INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE thread ADD COLUMN traces_sent INTEGER;`,
  "ALTER TABLE thread ADD COLUMN directory_slot INTEGER NOT NULL DEFAULT 0;",
  "ALTER TABLE runs ADD COLUMN is_stopping INTEGER NOT NULL DEFAULT 0;",
  "ALTER TABLE thread ADD COLUMN is_stopped INTEGER NOT NULL DEFAULT 0;",
  "ALTER TABLE runs ADD COLUMN accepted_at INTEGER NOT NULL DEFAULT 0;",
];

/** Tables of all steps, for new threads: each `ALTER TABLE` of a step would write a billed row. */
export const SCHEMA = schemaOf(MIGRATIONS);
