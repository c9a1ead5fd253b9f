import type { Deployment } from "../../control-plane/deployments/schema.ts";
import type { RunSeries } from "../../traces/stats/series-schema.ts";
import { useApiQuery } from "../api/hooks.ts";
import { apiPath } from "../api/path.ts";
import { type Activity, activityOf, CELL_MS, CELLS } from "./activity.ts";

const POLL_MS = 60_000;
/** The service returns at most 1000 buckets, which allows 20 series of 48 half hours: 19 groups and the rest. */
const MAX_GROUPS = 19;

/**
 * @returns `null` before the read, and for a deployment whose runs may be in the rest, beyond the 19 with the most runs
 */
type ActivityOf = (deployment_id: string) => Activity | null;

/** Reads the activity of all these deployments with one request. */
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
