import type { RunRequest } from "../../contract/records.ts";

/** The graph that was added first makes room for one more. */
const MAX_GRAPHS = 10_000;

/** Graphs whose newest run was not over within a short wait. All threads of an isolate share them. */
const longGraphs = new Set<string>();

export type GraphOfRun = Pick<RunRequest, "graph_id" | "revision">;

/** Whether a stream of a run of this graph should begin before its end. */
export function isLongGraph(run: GraphOfRun): boolean {
  return longGraphs.has(keyOf(run));
}

export function noteRun(run: GraphOfRun, { isShort }: { isShort: boolean }) {
  const key = keyOf(run);
  longGraphs.delete(key);
  if (isShort) return;
  longGraphs.add(key);
  const [oldest] = longGraphs;
  if (longGraphs.size > MAX_GRAPHS && oldest !== undefined) longGraphs.delete(oldest);
}

function keyOf({ graph_id, revision }: GraphOfRun): string {
  return `${revision.revision_id}/${graph_id}`;
}
