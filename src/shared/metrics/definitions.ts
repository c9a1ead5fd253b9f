type Definition = { help: string; labels: readonly string[]; buckets?: readonly number[] };

const REQUEST_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const WAIT_S = [0.1, 0.5, 1, 5, 15, 60, 300, 1800];
const WORK_S = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600];

/**
 * All metrics of a region. Labels have few values, and none is an id: the number of series does not grow with
 * workspaces, deployments or threads.
 */
export const METRICS = {
  heddle_http_request_duration_seconds: {
    help: "Time until the response begins, by pattern of the route.",
    labels: ["route", "method", "status"],
    buckets: REQUEST_S,
  },
  heddle_runs_started_total: { help: "Runs whose first attempt began.", labels: [] },
  heddle_runs_restarted_total: {
    help: "Attempts after the loss of an attempt.",
    labels: [],
  },
  heddle_runs_ended_total: { help: "Runs that ended, by their status.", labels: ["status"] },
  heddle_run_queue_wait_seconds: {
    help: "Time from the due time of a run to its first attempt.",
    labels: [],
    buckets: WAIT_S,
  },
  heddle_run_duration_seconds: {
    help: "Time from the first attempt to the end of a run.",
    labels: ["status"],
    buckets: WORK_S,
  },
  heddle_build_duration_seconds: {
    help: "Time from the creation of a revision to the end of its build.",
    labels: ["outcome"],
    buckets: WORK_S,
  },
  heddle_export_windows_total: { help: "Exports that schedules created.", labels: [] },
  heddle_exports_ended_total: {
    help: "Exports that completed, failed or timed out, by their status.",
    labels: ["outcome"],
  },
  heddle_export_files_total: { help: "Attempts at files, by their outcome.", labels: ["outcome"] },
  heddle_export_rows_total: { help: "Rows of completed files.", labels: [] },
  heddle_export_bytes_total: { help: "Bytes of completed files.", labels: [] },
  heddle_ingestion_batches_total: { help: "Batches of trace runs stored.", labels: [] },
  heddle_ingestion_spans_total: { help: "Trace runs stored, changes included.", labels: [] },
  heddle_ingestion_bytes_total: { help: "Decoded bytes of ingestion bodies.", labels: [] },
  heddle_ingestion_refused_total: {
    help: "Ingestion requests refused because of load.",
    labels: ["status"],
  },
  heddle_d1_statements_total: { help: "Statements sent to D1.", labels: [] },
  heddle_d1_errors_total: { help: "Calls of D1 that failed.", labels: [] },
  heddle_alarms_failed_total: {
    help: "Alarms that failed, by class of the object.",
    labels: ["object"],
  },
  heddle_jobs_failed_total: { help: "Jobs of the cron that failed.", labels: ["job"] },
  heddle_messages_failed_total: { help: "Attempts at queue messages that failed.", labels: [] },
} as const satisfies Record<string, Definition>;

export type MetricName = keyof typeof METRICS;
export type LabelsOf<N extends MetricName> = Record<
  (typeof METRICS)[N]["labels"][number],
  string | number
>;

export function definitionOf(name: string): Definition | undefined {
  return (METRICS as Record<string, Definition>)[name];
}
