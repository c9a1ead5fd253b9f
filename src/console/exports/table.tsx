import { Link } from "@tanstack/react-router";
import type { BulkExport } from "../../exports/schema.ts";
import { useWorkspaceId } from "../api/hooks.ts";
import { pathTo } from "../state/path.ts";
import { ProgressBar } from "../ui/blocks/progress-bar.tsx";
import { DataTable, type TableColumn } from "../ui/data-table.tsx";
import { formatPercent, shortId } from "../ui/formats.ts";
import { Status } from "../ui/status.tsx";
import { Bytes, Elapsed, Quantity } from "../ui/values.tsx";
import { filesText, isSchedule, showExportStatus } from "./export-status.ts";
import { useDestinations, useProjectNames } from "./names.ts";
import { rangeText } from "./windows.ts";

/** Lists exports, schedules and their windows in the given order. */
export function ExportTable({ rows }: { rows: BulkExport[] }) {
  const projectOf = useProjectNames(rows);
  const { data: destinations = [] } = useDestinations();
  const destinationOf = (id: string) =>
    destinations.find((each) => each.id === id)?.display_name ?? shortId(id);
  const columns: TableColumn<BulkExport>[] = [
    {
      id: "project",
      header: "Project",
      cell: (row) => <Name bulkExport={row} project={projectOf(row.session_id)} />,
    },
    {
      id: "range",
      header: "Time of the runs",
      cell: (row) => <span className="nw">{rangeText(row)}</span>,
      card: "full",
    },
    {
      id: "destination",
      header: "Destination",
      cell: (row) => <span className="cut">{destinationOf(row.bulk_export_destination_id)}</span>,
      card: "hidden",
    },
    {
      id: "status",
      header: "Status",
      cell: (row) => <ExportStatus bulkExport={row} />,
      card: "end",
    },
    { id: "progress", header: "Progress", cell: (row) => <Work bulkExport={row} />, card: "full" },
    {
      id: "took",
      header: "Took",
      cell: (row) => <Took bulkExport={row} />,
      isRightAligned: true,
      card: "hidden",
    },
    {
      id: "rows",
      header: "Rows",
      cell: ({ progress }) => <Quantity value={progress?.rows_written ?? null} />,
      isRightAligned: true,
      card: "hidden",
    },
    {
      id: "bytes",
      header: "Bytes",
      cell: ({ progress }) => <Bytes value={progress?.bytes_written ?? null} />,
      isRightAligned: true,
      card: "hidden",
    },
  ];
  const isFailed = ({ status }: BulkExport) => status === "FAILED" || status === "TIMEDOUT";
  return <DataTable label="Exports" {...{ columns, rows, isFailed }} keyOf={({ id }) => id} />;
}

function Name({ bulkExport, project }: { bulkExport: BulkExport; project: string }) {
  const workspace = useWorkspaceId();
  const { id, source_bulk_export_id } = bulkExport;
  return (
    <div className="row">
      <Link to={pathTo(workspace, `/exports/${id}`)} className="cut m text-ink" title={project}>
        {project}
      </Link>
      {source_bulk_export_id !== null && <span className="tag">window</span>}
      {isSchedule(bulkExport) && <span className="tag">every {bulkExport.interval_hours} h</span>}
    </div>
  );
}

export function ExportStatus({ bulkExport: { status } }: { bulkExport: BulkExport }) {
  const { kind, word } = showExportStatus(status);
  return (
    <Status kind={kind} plain={["ok", "idle", "cancelled"].includes(kind)}>
      {word}
    </Status>
  );
}

function Took({ bulkExport: { created_at, finished_at } }: { bulkExport: BulkExport }) {
  return finished_at === null ? null : <Elapsed start={created_at} end={finished_at} />;
}

/** Shows the progress of an export: a bar while it runs, its files, and the reason of a failure. */
function Work({ bulkExport }: { bulkExport: BulkExport }) {
  const { error, progress } = bulkExport;
  if (progress === null) return null;
  return (
    <div className="grid">
      {bulkExport.status === "RUNNING" && progress.fraction !== null && (
        <Bar fraction={progress.fraction} />
      )}
      <span className="sm dim nw">{filesText(progress)}</span>
      {error !== null && (
        <span className="sm cut block max-w-90" title={error}>
          {error}
        </span>
      )}
    </div>
  );
}

function Bar({ fraction }: { fraction: number }) {
  return (
    <span className="row">
      <ProgressBar fraction={fraction} label="Progress of the export" />
      <span className="sm nw">{formatPercent(fraction)}</span>
    </span>
  );
}
