import type { Metrics } from "./metrics-schema.ts";

type Sample = { value: number; labels?: Record<string, string> };

/** Returns the Prometheus text format. Metrics that LangGraph's own server has too have the same names. */
export function toPrometheus({ deployment_id, revision_id, threads, queue }: Metrics): string {
  const owner = { project_id: deployment_id, revision_id };
  const gauge = (name: string, help: string, samples: Sample[]) =>
    [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} gauge`,
      ...samples.map(({ value, labels }) => `${name}${toLabels({ ...owner, ...labels })} ${value}`),
    ].join("\n");
  const byStatus = Object.entries(threads).map(([status, value]) => ({
    value,
    labels: { status },
  }));
  const families = [gauge("heddle_threads", "Threads by status.", byStatus)];
  if (queue) {
    const one = (name: string, help: string, value: number) => gauge(name, help, [{ value }]);
    families.push(
      one(
        "lg_api_num_pending_runs",
        "Pending runs, without those of temporary threads.",
        queue.n_pending,
      ),
      one(
        "lg_api_num_running_runs",
        "Running runs, without those of temporary threads.",
        queue.n_running,
      ),
      one(
        "lg_api_pending_runs_wait_time_max",
        "Seconds since the first pending run became due.",
        queue.pending_runs_wait_time_max_secs,
      ),
    );
  }
  return `${families.join("\n")}\n`;
}

/** Ids and statuses need no escaping. */
function toLabels(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return `{${pairs.join(",")}}`;
}
