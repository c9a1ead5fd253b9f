import type { TableStep } from "../../shared/object-tables.ts";
import { digestOldPairs } from "./pair-migration.ts";

/** The tables of one partition. Append only: the version is the number of steps that ran. */
export const MIGRATIONS: TableStep[] = [
  `CREATE TABLE runs (
     row INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     trace_id TEXT,
     parent_run_id TEXT,
     name TEXT,
     run_type TEXT,
     start_us INTEGER NOT NULL,
     end_us INTEGER,
     status TEXT NOT NULL,
     error TEXT,
     is_root INTEGER NOT NULL,
     dotted_order TEXT,
     thread_id TEXT,
     reference_example_id TEXT,
     trace_tier TEXT,
     execution_order INTEGER,
     total_tokens INTEGER,
     prompt_tokens INTEGER,
     completion_tokens INTEGER,
     total_cost TEXT,
     prompt_cost TEXT,
     completion_cost TEXT,
     first_token_us INTEGER,
     tags TEXT,
     inputs TEXT,
     outputs TEXT,
     extra TEXT,
     events TEXT,
     serialized TEXT,
     pointers TEXT,
     search_text TEXT,
     seq INTEGER NOT NULL,
     changed_seq INTEGER NOT NULL,
     patched INTEGER NOT NULL
   );
   CREATE INDEX runs_by_start ON runs (start_us, id);
   CREATE INDEX runs_by_trace ON runs (trace_id);
   CREATE INDEX runs_roots ON runs (start_us, id) WHERE is_root = 1;
   CREATE INDEX runs_by_thread ON runs (thread_id) WHERE thread_id IS NOT NULL;
   CREATE TABLE run_tags (
     row INTEGER NOT NULL,
     tag TEXT NOT NULL,
     PRIMARY KEY (row, tag)
   ) WITHOUT ROWID;
   CREATE INDEX run_tags_by_tag ON run_tags (tag, row);
   CREATE TABLE run_pairs (
     row INTEGER NOT NULL,
     kind TEXT NOT NULL,
     key TEXT NOT NULL,
     value TEXT NOT NULL,
     number REAL,
     PRIMARY KEY (row, kind, key, value)
   ) WITHOUT ROWID;
   CREATE INDEX run_pairs_by_value ON run_pairs (kind, key, value, row);
   CREATE TABLE feedback (
     id TEXT PRIMARY KEY,
     run_id TEXT NOT NULL,
     key TEXT NOT NULL,
     score REAL,
     value TEXT,
     source TEXT,
     comment TEXT,
     body TEXT NOT NULL,
     created_at TEXT NOT NULL
   );
   CREATE INDEX feedback_by_run ON feedback (run_id);
   CREATE INDEX feedback_by_key ON feedback (key, score);`,
  `ALTER TABLE runs ADD COLUMN root_day TEXT;
   UPDATE runs SET root_day =
       substr(dotted_order, 1, 4) || '-' || substr(dotted_order, 5, 2) || '-' || substr(dotted_order, 7, 2)
     WHERE substr(dotted_order, 1, 8) <> strftime('%Y%m%d', start_us / 1000000, 'unixepoch');
   CREATE INDEX runs_far ON runs (root_day, trace_id) WHERE root_day IS NOT NULL;`,
  `ALTER TABLE feedback ADD COLUMN modified_at TEXT;
   CREATE TABLE leftovers (
     kind TEXT NOT NULL,
     id TEXT NOT NULL,
     PRIMARY KEY (kind, id)
   ) WITHOUT ROWID;`,
  `CREATE TABLE numbered_pairs (
     row INTEGER NOT NULL,
     n INTEGER NOT NULL,
     kind TEXT NOT NULL,
     key TEXT NOT NULL,
     value TEXT NOT NULL,
     number REAL,
     PRIMARY KEY (row, n)
   ) WITHOUT ROWID;
   INSERT INTO numbered_pairs
     SELECT row, 1000 * (instr('mio', kind) - 1) + row_number() OVER (PARTITION BY row, kind) - 1,
       kind, key, value, number FROM run_pairs;
   DROP TABLE run_pairs;
   ALTER TABLE numbered_pairs RENAME TO run_pairs;
   CREATE INDEX run_pairs_by_value ON run_pairs (kind, key, substr(value, 1, 40));`,
  digestOldPairs,
];
