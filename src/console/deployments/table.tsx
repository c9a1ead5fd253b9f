import { Link } from "@tanstack/react-router";
import type { Revision, RevisionsList } from "../../control-plane/deployments/revision-schema.ts";
import type { Deployment } from "../../control-plane/deployments/schema.ts";
import { useApiQuery, useWorkspaceId } from "../api/hooks.ts";
import { apiPath } from "../api/path.ts";
import { pathTo } from "../state/path.ts";
import { Weave } from "../ui/chart/weave.tsx";
import { DataTable, type TableColumn } from "../ui/data-table.tsx";
import { formatPercent, shortId } from "../ui/formats.ts";
import { Status } from "../ui/status.tsx";
import { Elapsed, Quantity, Time } from "../ui/values.tsx";
import { type Activity, activityText } from "./activity.ts";
import { nameOf } from "./revision-name.ts";
import { showStatus } from "./revision-status.ts";
import { useActivity } from "./use-activity.ts";

const BUILDING_POLL_MS = 2000;
const POLL_MS = 10_000;

export function DeploymentTable({ rows }: { rows: Deployment[] }) {
  const activityOf = useActivity(rows);
  const columns: TableColumn<Deployment>[] = [
    { id: "name", header: "Name", cell: (row) => <Name deployment={row} /> },
    { id: "serving", header: "Serving", cell: (row) => <Serving deployment={row} />, card: "full" },
    {
      id: "newest",
      header: "Newest revision",
      cell: (row) => <Newest deployment={row} />,
      card: "end",
    },
    {
      id: "activity",
      header: "Last 24 hours",
      cell: ({ id }) => <Runs activity={activityOf(id)} />,
      card: "full",
      width: "22%",
    },
    {
      id: "errors",
      header: "Errors",
      cell: ({ id }) => <Errors activity={activityOf(id)} />,
      isNumber: true,
      card: "hidden",
    },
    {
      id: "updated",
      header: "Changed",
      cell: (row) => <Time at={row.updated_at} />,
      card: "hidden",
    },
  ];
  return <DataTable label="Deployments" columns={columns} rows={rows} keyOf={({ id }) => id} />;
}

function Name({ deployment }: { deployment: Deployment }) {
  const workspace = useWorkspaceId();
  const { id, name, display_name, source_config } = deployment;
  return (
    <div className="grid">
      <Link to={pathTo(workspace, `/deployments/${id}`)} className="cut m text-ink" title={name}>
        {display_name ?? name}
      </Link>
      <span className="dim sm cut">{source_config.repo_url ?? "upload"}</span>
    </div>
  );
}

function Serving({ deployment: { id, active_revision_id, traffic } }: { deployment: Deployment }) {
  const revisions = useRevisions(id);
  if (active_revision_id === null) return <span className="dim">Nothing serves yet</span>;
  const active = revisions.find((revision) => revision.id === active_revision_id);
  return (
    <span className="row">
      <span className="sha">{active ? nameOf(active) : shortId(active_revision_id)}</span>
      {traffic.length > 1 && (
        <span className="dim sm">{traffic.map(({ percent }) => percent).join(" / ")}</span>
      )}
    </span>
  );
}

function Newest({
  deployment: { id, latest_revision_id, active_revision_id },
}: {
  deployment: Deployment;
}) {
  const newest = useRevisions(id).find((revision) => revision.id === latest_revision_id);
  if (newest === undefined) return null;
  const { kind, word, isBuilding } = showStatus(newest.status);
  const isServing = newest.id === active_revision_id;
  return (
    <div className="grid justify-items-start">
      <Status kind={kind} plain={kind === "ok"}>
        {isServing ? "Serving" : word}
      </Status>
      {newest.status_reason && <code className="sm dim">{newest.status_reason}</code>}
      {isBuilding && (
        <span className="sm dim">
          <Elapsed start={newest.created_at} end={null} />
        </span>
      )}
    </div>
  );
}

function Runs({ activity }: { activity: Activity | null }) {
  if (activity === null) return null;
  return (
    <span className="row">
      <Weave className="grow" cells={activity.cells} label={activityText(activity)} />
      <span className="sm dim nw min-w-12 text-right">
        <Quantity value={activity.runs} short /> {activity.runs === 1 ? "run" : "runs"}
      </span>
    </span>
  );
}

function Errors({ activity }: { activity: Activity | null }) {
  if (activity === null || activity.runs === 0) return null;
  const { errors, runs } = activity;
  return <span className={errors > 0 ? "err" : "dim"}>{formatPercent(errors / runs)}</span>;
}

export function useRevisions(deployment_id: string): Revision[] {
  const { path, ...options } = revisionsQuery(deployment_id);
  return useApiQuery<RevisionsList>(path, options).data?.resources ?? [];
}

/** The same cache entry on each page, so that they agree. */
export function revisionsQuery(deployment_id: string) {
  return {
    path: apiPath`/v2/deployments/${deployment_id}/revisions`,
    query: { limit: 100, include_previews: true },
    poll: (list: RevisionsList | undefined) =>
      list?.resources.some(({ status }) => showStatus(status).isBuilding)
        ? BUILDING_POLL_MS
        : POLL_MS,
  };
}
