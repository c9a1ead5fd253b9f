import { Link } from "@tanstack/react-router";
import type { Deployment, DeploymentsList } from "../../control-plane/deployments/schema.ts";
import { useWorkspaceId } from "../api/hooks.ts";
import { pathTo } from "../state/path.ts";
import { Weave } from "../ui/chart/weave.tsx";
import { DataTable, type TableColumn } from "../ui/data-table.tsx";
import { formatDuration, formatPercent } from "../ui/formats.ts";
import { Status } from "../ui/status.tsx";
import { Elapsed, Quantity, Time } from "../ui/values.tsx";
import { type Activity, activityText } from "./activity.ts";
import { nameOf } from "./revision-name.ts";
import { roleOf } from "./revision-role.ts";
import { showStatus } from "./revision-status.ts";
import { useActivity } from "./use-activity.ts";

const BUILDING_POLL_MS = 2000;
const POLL_MS = 5000;

export function DeploymentTable({ rows }: { rows: Deployment[] }) {
  const { activityOf } = useActivity(rows);
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
      isRightAligned: true,
      card: "hidden",
    },
    {
      id: "p99",
      header: "p99",
      cell: ({ id }) => <P99 activity={activityOf(id)} />,
      isRightAligned: true,
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

function Serving({ deployment: { active_revision, traffic } }: { deployment: Deployment }) {
  if (active_revision === null) return <span className="dim">Nothing serves yet</span>;
  return (
    <span className="row">
      <span className="sha">{nameOf(active_revision)}</span>
      {traffic.length > 1 && (
        <span className="dim sm">{traffic.map(({ percent }) => percent).join(" / ")}</span>
      )}
    </span>
  );
}

function Newest({ deployment }: { deployment: Deployment }) {
  const { latest_revision: newest, latest_revision_id: id } = deployment;
  if (newest === null || id === null) return null;
  const { isBuilding } = showStatus(newest.status);
  // A preview is never the newest revision of its deployment.
  const { kind, word } = roleOf(deployment, { ...newest, id, is_preview: false });
  return (
    <div className="grid justify-items-start">
      <Status kind={kind} plain={kind === "ok" || kind === "idle"}>
        #{newest.number}, {word.toLowerCase()}
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

function P99({ activity }: { activity: Activity | null }) {
  const ms = activity?.p99_ms ?? null;
  return ms === null ? null : <span className="nw">{formatDuration(ms)}</span>;
}

/** Milliseconds between two reads of a list: short while one of its newest revisions builds. */
export function pollOf(list: DeploymentsList | undefined): number {
  const isBuilding = list?.resources.some(
    ({ latest_revision: newest }) => newest !== null && showStatus(newest.status).isBuilding,
  );
  return isBuilding ? BUILDING_POLL_MS : POLL_MS;
}
