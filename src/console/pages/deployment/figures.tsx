import type { DeploymentStats } from "../../../control-plane/deployments/api/stats-schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { formatCount, formatDuration, formatPercent } from "../../ui/formats.ts";

export type RevisionFigures = DeploymentStats["revisions"][number];

const POLL_MS = 30_000;

/** @returns the figures of the last day by revision, `undefined` before they are read */
export function useFigures(deployment_id: string): Map<string, RevisionFigures> | undefined {
  const { data } = useApiQuery<DeploymentStats>(apiPath`/v2/deployments/${deployment_id}/stats`, {
    query: { period: "day" },
    poll: POLL_MS,
  });
  return data && new Map(data.revisions.map((each) => [each.revision_id, each]));
}

/** Returns `1,204 runs, 0.31% errors, p50 1.2 s, p99 8.4 s in the last day`. */
export function figuresText(figures: RevisionFigures | undefined): string {
  if (figures === undefined) return "No runs in the last day";
  const { run_count, latency_p50 } = figures;
  const p50 = latency_p50 === null ? "" : `, p50 ${secondsText(latency_p50)}`;
  const runs = formatCount(run_count, "run");
  return `${runs}, ${errorsText(figures)}${p50}${p99Text(figures)} in the last day`;
}

/** Returns `0.31% errors, p99 8.4 s`, for a side of a split. */
export function shortFiguresText(figures: RevisionFigures | undefined): string {
  return figures === undefined ? "no runs" : `${errorsText(figures)}${p99Text(figures)}`;
}

function errorsText({ error_rate }: RevisionFigures): string {
  return `${formatPercent(error_rate ?? 0)} errors`;
}

function p99Text({ latency_p99 }: RevisionFigures): string {
  return latency_p99 === null ? "" : `, p99 ${secondsText(latency_p99)}`;
}

function secondsText(seconds: number): string {
  return formatDuration(seconds * 1000);
}
