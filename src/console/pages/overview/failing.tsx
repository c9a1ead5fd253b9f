import { Link } from "@tanstack/react-router";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import type { BulkExport } from "../../../exports/schema.ts";
import { useApiQuery, useWorkspaceId } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { CELL_MS } from "../../deployments/activity.ts";
import { nameOf } from "../../deployments/revision-name.ts";
import { showStatus } from "../../deployments/revision-status.ts";
import { useActivity } from "../../deployments/use-activity.ts";
import { useProjectNames } from "../../exports/names.ts";
import { exportName } from "../../exports/windows.ts";
import { pathTo } from "../../state/path.ts";
import { formatTick } from "../../traces/time-range.ts";
import { formatCount } from "../../ui/formats.ts";
import { Panel } from "../../ui/panel.tsx";
import { StatusIcon } from "../../ui/status.tsx";
import { Time } from "../../ui/values.tsx";
import { type OverviewProblem, useFiringAlerts, useUsedUpQuotas } from "./problems.ts";

const POLL_MS = 10_000;
const SHOWN = 5;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Lists used-up quotas, and then, the newest first, firing alerts, failed newest revisions, and runs and exports that
 * failed within a day.
 */
export function Failing({ deployments }: { deployments: Deployment[] }) {
  const quotas = useUsedUpQuotas();
  const parts = [
    useFiringAlerts(),
    useFailedBuilds(deployments),
    ...useFailedRuns(deployments),
    useFailedExports("FAILED"),
    useFailedExports("TIMEDOUT"),
  ];
  const dated = parts
    .flatMap((part) => part ?? [])
    .sort((one, other) => (other.at ?? "").localeCompare(one.at ?? ""));
  const problems = [...(quotas ?? []), ...dated];
  const isRead = [quotas, ...parts].every((part) => part !== null);
  return (
    <Panel
      title={
        <span className="row">
          <span className={problems.length > 0 ? "err" : "dim"}>
            <StatusIcon kind={problems.length > 0 ? "failed" : isRead ? "ok" : "idle"} />
          </span>
          Failing, last 24 hours
          {problems.length > 0 && <span className="count">{problems.length}</span>}
        </span>
      }
      footer={problems.length > SHOWN ? `The first ${SHOWN} of ${problems.length}` : undefined}
    >
      {problems.length === 0 ? (
        <p className="in-p dim">
          {isRead
            ? "No newest revision failed, and no run or export of the last day. No alert fires."
            : "Not all alerts, quotas, runs and exports are read."}
        </p>
      ) : (
        <ul>
          {problems.slice(0, SHOWN).map(({ key, title, detail, at, isRough, to }) => (
            <li key={key} className="in-p border-b border-line-soft">
              <Link to={to} className="m cut block" title={title}>
                {title}
              </Link>
              <div className="dim sm row">
                <code className="cut">{detail}</code> {!isRough && <Time at={at} />}
              </div>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function useFailedBuilds(deployments: Deployment[]): OverviewProblem[] {
  const workspace = useWorkspaceId();
  return deployments.flatMap(({ id, name, latest_revision: newest }) => {
    if (newest === null || showStatus(newest.status).kind !== "failed") return [];
    const title = `${name} did not ${newest.status === "DEPLOY_FAILED" ? "load" : "build"}`;
    const to = pathTo(workspace, `/deployments/${id}`);
    const detail = `${newest.status_reason ?? newest.status} ${nameOf(newest)}`;
    return [{ key: `build of ${id}`, title, detail, at: newest.updated_at, to }];
  });
}

/**
 * Returns the problems, and as a second part `[]` when the runs of all deployments are known, else `null`: before they are
 * read, and when a deployment is not among the busiest ones, whose runs are read.
 */
function useFailedRuns(deployments: Deployment[]): (OverviewProblem[] | null)[] {
  const workspace = useWorkspaceId();
  const { activityOf, isRead } = useActivity(deployments);
  const isKnown = ({ id, tracing_project_id }: Deployment) =>
    tracing_project_id === null || activityOf(id) !== null;
  const problems = deployments.flatMap((deployment): OverviewProblem[] => {
    const { id, name, tracing_project_id: project } = deployment;
    const { runs = 0, errors = 0, failed_at = null } = activityOf(id) ?? {};
    if (failed_at === null) return [];
    const search = new URLSearchParams({
      project: project ?? "",
      range: "24h",
      q: 'eq(status, "error")',
    });
    return [
      {
        key: `runs of ${id}`,
        title: `${errors} of ${formatCount(runs, "run")} failed in ${name}`,
        detail: `the newest between ${timeOf(failed_at)} and ${timeOf(failed_at, CELL_MS)}`,
        at: failed_at,
        isRough: true,
        to: `${pathTo(workspace, "/traces")}?${search}`,
      },
    ];
  });
  return [problems, isRead && deployments.every(isKnown) ? [] : null];
}

/** Returns a time such as `14:30`. */
function timeOf(iso: string, later_ms = 0): string {
  return formatTick(Date.parse(iso) + later_ms, DAY_MS);
}

function useFailedExports(status: "FAILED" | "TIMEDOUT"): OverviewProblem[] | null {
  const workspace = useWorkspaceId();
  const { data } = useApiQuery<BulkExport[]>(apiPath`/api/v1/bulk-exports`, {
    query: { status, limit: SHOWN },
    poll: POLL_MS,
  });
  const projectOf = useProjectNames(data ?? []);
  if (data === undefined) return null;
  return data
    .filter(({ finished_at }) => Date.now() - Date.parse(finished_at ?? "") < DAY_MS)
    .map((each) => ({
      key: each.id,
      title: `${exportName(each, projectOf(each.session_id))} ${status === "FAILED" ? "failed" : "timed out"}`,
      detail: each.error ?? each.id,
      at: each.finished_at ?? "",
      to: pathTo(workspace, `/exports/${each.id}`),
    }));
}
