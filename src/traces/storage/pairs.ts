/**
 * `run_digests` has the pairs of a run as JSON objects, read through a view for each kind: a number is
 * there as `[text, number]`. `run_terms` leads from a term to the rows that have it: those of a batch are
 * one entry, under the first of them. It also names rows that had the term before they were changed, or
 * deleted: who looks there looks at the pairs as well.
 */
export const PAIR_TABLES = [
  `CREATE TABLE run_digests (
     row INTEGER PRIMARY KEY,
     metadata TEXT,
     inputs TEXT,
     outputs TEXT
   )`,
  ...Object.entries({ metadata: "metadata", input: "inputs", output: "outputs" }).map(
    ([name, column]) =>
      `CREATE VIEW ${name}_pairs AS
       SELECT d.row AS row, p.key AS key,
         iif(p.type = 'array', p.value->>0, p.value) AS value,
         iif(p.type = 'array', p.value->>1, NULL) AS number
       FROM run_digests d, json_each(d.${column}) p`,
  ),
  `CREATE TABLE run_terms (
     term INTEGER NOT NULL,
     row INTEGER NOT NULL,
     rows TEXT,
     PRIMARY KEY (term, row)
   ) WITHOUT ROWID`,
];
