/**
 * Tables of one thread. Append only: the version is the number of steps that ran.
 * `parts` holds data that outgrows a row, under a name that its owner derives.
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
     seq INTEGER PRIMARY KEY,
     run_id TEXT NOT NULL UNIQUE,
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
   );
   CREATE TABLE events (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     run_id TEXT NOT NULL,
     event TEXT NOT NULL,
     data TEXT,
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
   );
   CREATE TABLE channel_values (
     ns TEXT NOT NULL,
     channel TEXT NOT NULL,
     version INTEGER NOT NULL,
     run_id TEXT,
     type TEXT NOT NULL,
     data BLOB,
     segments TEXT,
     PRIMARY KEY (ns, channel, version)
   );
   CREATE TABLE value_segments (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     data BLOB NOT NULL
   );
   CREATE TABLE event_segments (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     data BLOB NOT NULL
   );
   CREATE TABLE writes (
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
   );
   CREATE TABLE replaced_writes (
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
   );
   CREATE TABLE parts (
     name TEXT NOT NULL,
     part INTEGER NOT NULL,
     data BLOB NOT NULL,
     PRIMARY KEY (name, part)
   );
   CREATE TABLE trace_outbox (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     kind TEXT NOT NULL,
     data TEXT,
     texts TEXT
   );
   CREATE TABLE webhook_outbox (
     run_id TEXT PRIMARY KEY,
     url TEXT NOT NULL,
     payload TEXT,
     user TEXT
   );`,
];
