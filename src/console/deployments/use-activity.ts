import type { Deployment } from "../../control-plane/deployments/schema.ts";
import type { RunSeries } from "../../traces/stats/series-schema.ts";
import { useApiQuery } from "../api/hooks.ts";
import { apiPath } from "../api/path.ts";
import { type Activity, activityOf, CELL_MS, CELLS } from "./activity.ts";

const POLL_MS = 60_000;
/** An answer holds 1000 buckets: 48 of each group, and of the rest. */
const MAX_GROUPS = 19;

/** Activity of a deployment, `null` for one that is not among the 19 with the most runs. */
type ActivityOf = (deployment_id: string) => Activity | null;

/** Reads the runs of all these deployments at once. */
export function useActivity(rows: Deployment[]): { activityOf: ActivityOf; isRead: boolean } {
  const session = rows.flatMap(({ tracing_project_id }) => tracing_project_id ?? []).sort();
  const start = (Math.floor(Date.now() / CELL_MS) - CELLS + 1) * CELL_MS;
  const { data } = useApiQuery<RunSeries>(apiPath`/api/v1/runs/stats`, {
    post: {
      session,
      start_time: new Date(start).toISOString(),
      is_root: true,
      stride: { unit: "MINUTE", value: 30 },
      group_by: { attribute: "metadata", path: "deployment_id", max_groups: MAX_GROUPS },
    },
    enabled: session.length > 0,
    poll: POLL_MS,
    keepPrevious: true,
  });
  return {
    activityOf: (id) => (data ? activityOf(data, id) : null),
    isRead: data !== undefined || session.length === 0,
  };
}
