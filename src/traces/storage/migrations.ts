import { COLUMNS, SEGMENTS, smallTable } from "../segments/segment-table.ts";

/**
 * Tables of one partition. Append only: the version is the number of applied steps.
 * Runs are in segments: see `segments/store.ts`. `cold_bodies` has the objects in R2 with bodies of segments.
 * `span_parents` maps ids of spans to runs; `dotted_order` is set when the run is in the partition of an earlier day.
 * `waiting_spans` has spans whose parent has not arrived, `long_spans` spans that end on a later day, where their
 * children may start. `leftovers` has what a change must still delete or write outside of this object, by its kind.
 * `restored_at` is in milliseconds since 1970, `NULL` for a body in R2 alone; `bytes` is the size of the R2 object.
 * `upload_id` is `NULL` once the object is complete.
 */
export const MIGRATIONS = [
  `CREATE TABLE ${SEGMENTS} (${COLUMNS});
   CREATE TABLE ${smallTable(0)} (${COLUMNS});
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
   CREATE TABLE span_parents (
     id TEXT PRIMARY KEY,
     run_id TEXT NOT NULL,
     trace_id TEXT NOT NULL,
     dotted_order TEXT
   ) WITHOUT ROWID;
   CREATE TABLE waiting_spans (
     parent_id TEXT NOT NULL,
     run_id TEXT NOT NULL,
     PRIMARY KEY (parent_id, run_id)
   ) WITHOUT ROWID;
   CREATE TABLE long_spans (
     trace_id TEXT NOT NULL,
     run_id TEXT NOT NULL,
     span_ids TEXT NOT NULL,
     PRIMARY KEY (trace_id, run_id)
   ) WITHOUT ROWID;`,
  `CREATE TABLE cold_bodies (
     number INTEGER PRIMARY KEY,
     key TEXT NOT NULL,
     bytes INTEGER NOT NULL,
     upload_id TEXT,
     restored_at INTEGER
   );`,
];
