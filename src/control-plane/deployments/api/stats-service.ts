import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { nullIfNotFound } from "../../../shared/errors.ts";
import { Uuid } from "../../../shared/schema.ts";
import { DAY_US, nowMicros, toIso } from "../../../shared/times.ts";
import { countTracesByMetadata } from "../../../traces/stats/stats-service.ts";
import { findDeployment } from "../rows.ts";
import { DeploymentStats, type DeploymentStatsQuery } from "./stats-schema.ts";

const PERIODS_US: Record<DeploymentStatsQuery["period"], number> = {
  hour: DAY_US / 24,
  day: DAY_US,
  week: 7 * DAY_US,
};

/** Returns the figures of each revision from the traces of its runs. */
export async function getDeploymentStats(
  ctx: Context,
  deployment_id: string,
  { period }: DeploymentStatsQuery,
): Promise<DeploymentStats> {
  assertMay(ctx, "read");
  const { tracing_project_id } = await findDeployment(ctx, deployment_id);
  const end_us = nowMicros();
  const start_us = end_us - PERIODS_US[period];
  const groups =
    tracing_project_id === null
      ? []
      : await nullIfNotFound(
          countTracesByMetadata(ctx, tracing_project_id, "revision_id", start_us),
        );
  // Clients may trace to the project with other values of `revision_id`, such as a commit.
  const revisions = [...(groups ?? [])]
    .filter(([revision_id]) => Uuid.safeParse(revision_id).success)
    .map(([revision_id, figures]) => ({ revision_id, ...figures }))
    .sort((a, b) => b.run_count - a.run_count);
  return DeploymentStats.parse({
    start_time: toIso(start_us),
    end_time: toIso(end_us),
    revisions,
  });
}
