import type { RunSource } from "../rows/run-source.ts";

/** Run that ends on a later day than it starts, so that spans of later days can be below it. */
export type FarParent = {
  id: string;
  trace_id: string;
  dotted_order: string;
  span_ids: string[];
  end_us: number;
};

export function hasRows(sql: SqlStorage, table: "waiting_spans" | "long_spans"): boolean {
  return sql.exec(`SELECT 1 FROM ${table} LIMIT 1`).toArray().length > 0;
}

/** Returns the spans of the traces that end on a later day than they start, and have a dotted order. */
export function findFarParents(
  sql: SqlStorage,
  runs: Pick<RunSource, "byId">,
  trace_ids: string[],
): FarParent[] {
  if (trace_ids.length === 0 || !hasRows(sql, "long_spans")) return [];
  const spans = sql.exec<{ run_id: string; span_ids: string }>(
    `SELECT run_id, span_ids FROM long_spans
     WHERE trace_id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(trace_ids),
  );
  return spans.toArray().flatMap(({ run_id, span_ids }) => {
    const run = runs.byId(run_id);
    if (run === null || run.dotted_order === null || run.end_us === null) return [];
    const { trace_id, dotted_order, end_us } = run;
    return [{ id: run_id, trace_id, dotted_order, end_us, span_ids: JSON.parse(span_ids) }];
  });
}
