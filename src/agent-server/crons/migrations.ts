/** The tables of the crons of one deployment. Append only: the version is the number of steps that ran. */
export const MIGRATIONS = [
  `CREATE TABLE crons (
     cron_id TEXT PRIMARY KEY,
     deployment_id TEXT NOT NULL,
     assistant_id TEXT NOT NULL,
     thread_id TEXT,
     schedule TEXT NOT NULL,
     timezone TEXT,
     end_at INTEGER,
     enabled INTEGER NOT NULL,
     on_run_completed TEXT NOT NULL,
     payload TEXT NOT NULL,
     metadata TEXT NOT NULL,
     principal TEXT NOT NULL,
     user_id TEXT,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     next_at INTEGER,
     tries INTEGER NOT NULL,
     retry_at INTEGER
   );
   CREATE INDEX crons_by_thread ON crons (thread_id) WHERE thread_id IS NOT NULL;`,
  `CREATE TABLE firings (
     cron_id TEXT NOT NULL,
     at INTEGER NOT NULL,
     fired_at INTEGER NOT NULL,
     is_manual INTEGER NOT NULL,
     outcome TEXT NOT NULL,
     run_id TEXT,
     thread_id TEXT,
     message TEXT,
     PRIMARY KEY (cron_id, at)
   ) WITHOUT ROWID;`,
];
