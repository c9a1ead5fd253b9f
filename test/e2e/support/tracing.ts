import { Client, type Run } from "langsmith";
import { stack, until } from "./stack.ts";

/** The official tracing SDK against the stack. */
export function tracing(): Client {
  const apiUrl = stack.base_url;
  return new Client({ apiUrl, apiKey: stack.api_key, callerOptions: { maxRetries: 0 } });
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** The trace of a run of Heddle's own, in the order of its starts, once nothing of it is open. */
export function traceOf(run_id: string): Promise<Run[]> {
  return until(
    `The trace of run ${run_id}`,
    () => collect(tracing().listRuns({ traceId: run_id, order: "asc" })),
    (runs) => runs.some(({ id }) => id === run_id) && runs.every(isEnded),
  );
}

function isEnded({ end_time, status }: Run): boolean {
  return Boolean(end_time) && status !== "pending";
}

/** Each run of a trace as the path of names that leads to it, in the order of the starts. */
export function pathsOf(runs: Run[]): string[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  const pathOf = (run: Run): string => {
    const parent = byId.get(run.parent_run_id ?? "");
    return parent ? `${pathOf(parent)} > ${run.name}` : run.name;
  };
  return runs.map(pathOf);
}
