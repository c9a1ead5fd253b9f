/**
 * Tables of an object of a deployment's directory. Append only: the version is the number of steps that ran.
 * `id` begins with the time of creation, so it orders threads without an index. `digest` is that of the thread's values,
 * for searches. `seq` numbers the changes of a thread: an older one does not replace a newer one. `is_waiting`: whether an
 * interrupted thread waits for an answer. `terms` finds candidates of a search by metadata: a change of `termsOf` needs a
 * step that fills it again. `removals` has the threads that were removed lately, which an older change must not add again.
 * Its buckets number periods of time.
 */
export const MIGRATIONS = [
  `CREATE TABLE threads (
     id INTEGER PRIMARY KEY,
     thread_id TEXT NOT NULL UNIQUE,
     status TEXT NOT NULL,
     metadata TEXT NOT NULL,
     created_at TEXT NOT NULL,
     updated_at TEXT NOT NULL,
     state_updated_at TEXT,
     digest TEXT,
     seq INTEGER NOT NULL,
     is_temporary INTEGER NOT NULL
   );
   CREATE INDEX threads_by_status ON threads (status);
   CREATE INDEX threads_by_update ON threads (updated_at);
   CREATE INDEX threads_waiting ON threads (state_updated_at, thread_id) WHERE status = 'interrupted';
   CREATE TABLE terms (term TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (term, id)) WITHOUT ROWID;
   CREATE TABLE counts (status TEXT PRIMARY KEY, threads INTEGER NOT NULL) WITHOUT ROWID;`,
  `CREATE TABLE removals (
     bucket INTEGER NOT NULL,
     thread_id TEXT NOT NULL,
     seq INTEGER NOT NULL,
     PRIMARY KEY (bucket, thread_id)
   ) WITHOUT ROWID;`,
  `ALTER TABLE threads ADD COLUMN is_waiting INTEGER NOT NULL DEFAULT 1;
   DROP INDEX threads_waiting;
   CREATE INDEX threads_waiting ON threads (state_updated_at, thread_id)
     WHERE status = 'interrupted' AND is_waiting = 1 AND is_temporary = 0;`,
];
