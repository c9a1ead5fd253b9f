import { hasUsage, usageBelow } from "../rollup/usage-sql.ts";
import { USAGE_COLUMNS } from "../totals.ts";

/**
 * Tables of one partition. Append only: the version is the number of applied steps.
 * `run_digests` has the pairs of a run as JSON objects, read through a view for each kind. Numbers
 * are stored as `[text, number]`.
 * `run_terms` maps terms to rows; a batch writes one entry under its first row. Entries of changed
 * and deleted rows remain, so readers check the pairs as well.
 * `run_usage` has the usage below a run that lacks its own, as a JSON array of `USAGE_COLUMNS`.
 */
export const MIGRATIONS = [
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
     patched INTEGER NOT NULL,
     root_day TEXT
   );
   CREATE INDEX runs_by_start ON runs (start_us, id);
   CREATE INDEX runs_by_trace ON runs (trace_id, changed_seq);
   CREATE INDEX runs_by_change ON runs (changed_seq);
   CREATE INDEX runs_roots ON runs (start_us, id) WHERE is_root = 1;
   CREATE INDEX runs_by_thread ON runs (thread_id) WHERE thread_id IS NOT NULL;
   CREATE INDEX runs_far ON runs (root_day, trace_id) WHERE root_day IS NOT NULL;
   CREATE TABLE feedback (
     id TEXT PRIMARY KEY,
     run_id TEXT NOT NULL,
     key TEXT NOT NULL,
     score REAL,
     value TEXT,
     source TEXT,
     comment TEXT,
     body TEXT NOT NULL,
     created_at TEXT NOT NULL,
     modified_at TEXT
   );
   CREATE INDEX feedback_by_run ON feedback (run_id);
   CREATE INDEX feedback_by_key ON feedback (key, score);
   CREATE TABLE leftovers (
     kind TEXT NOT NULL,
     id TEXT NOT NULL,
     PRIMARY KEY (kind, id)
   ) WITHOUT ROWID;
   CREATE TABLE run_digests (
     row INTEGER PRIMARY KEY,
     metadata TEXT,
     inputs TEXT,
     outputs TEXT
   );
   ${pairView("metadata_pairs", "metadata")}
   ${pairView("input_pairs", "inputs")}
   ${pairView("output_pairs", "outputs")}
   CREATE TABLE run_terms (
     term INTEGER NOT NULL,
     row INTEGER NOT NULL,
     rows TEXT,
     PRIMARY KEY (term, row)
   ) WITHOUT ROWID;`,
  `CREATE INDEX runs_usage ON runs (trace_id, dotted_order, run_type, ${USAGE_COLUMNS.join()})
     WHERE ${hasUsage("")};
   CREATE VIEW run_usage AS SELECT r.row AS row, ${usageBelow("r")} AS below FROM runs r;`,
];

function pairView(name: string, column: string): string {
  return `CREATE VIEW ${name} AS
     SELECT d.row AS row, p.key AS key,
       iif(p.type = 'array', p.value->>0, p.value) AS value,
       iif(p.type = 'array', p.value->>1, NULL) AS number
     FROM run_digests d, json_each(d.${column}) p;`;
}
