import { Link } from "@tanstack/react-router";
import type { BulkExport } from "../../../exports/schema.ts";
import { useApiQuery, useWorkspaceId } from "../../api/hooks.ts";
import { showExportStatus } from "../../exports/export-status.ts";
import { EXPORTS } from "../../exports/names.ts";
import { WINDOWS_PAGE, windowsQuery } from "../../exports/schedules.tsx";
import { ExportStatus } from "../../exports/table.tsx";
import { cellOf, windowsText } from "../../exports/window-cells.ts";
import { dueText, nextWindow, rangeText } from "../../exports/windows.ts";
import { pathTo } from "../../state/path.ts";
import { DataTable, type TableColumn } from "../../ui/data-table.tsx";
import { formatNumber } from "../../ui/formats.ts";
import { Empty, Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { Bytes, Quantity, useNow } from "../../ui/values.tsx";

type Props = { schedule: BulkExport; isPaused: boolean; current?: string };

/** Draws the windows of a schedule as a timeline. Windows that carry late rows are marked. */
export function Timeline({ schedule, isPaused, current }: Props) {
  const query = useApiQuery<BulkExport[]>(EXPORTS, windowsQuery(schedule.id, isPaused));
  return (
    <QueryState query={query} what="The windows could not be read" rows={3}>
      {(windows) => (
        <Panel
          title="Windows, oldest first"
          footer={<TimelineText schedule={schedule} windows={windows} />}
        >
          {windows.length === 0 ? (
            <NoWindows schedule={schedule} />
          ) : (
            <Cells windows={windows} current={current} />
          )}
        </Panel>
      )}
    </QueryState>
  );
}

function NoWindows({ schedule }: { schedule: BulkExport }) {
  const now = useNow();
  if (nextWindow(schedule, []).due <= now)
    return <Empty title="The first window is due">Its export begins within a minute.</Empty>;
  return (
    <Empty title="No window has ended yet">
      A window is exported ten minutes after its end, so that late runs are in it.
    </Empty>
  );
}

function TimelineText({ schedule, windows }: { schedule: BulkExport; windows: BulkExport[] }) {
  const now = useNow();
  const late = windows.reduce((sum, { progress }) => sum + (progress?.late_rows_written ?? 0), 0);
  const isEnded = schedule.status !== "INTERVAL_SCHEDULED";
  return (
    <>
      <span>
        {windows.length < WINDOWS_PAGE
          ? windowsText(windows)
          : `The newest ${windowsText(windows)}`}
        {late > 0 && `; ${formatNumber(late)} late rows carried`}
      </span>
      <span className="push nw">
        {isEnded
          ? `ended: ${showExportStatus(schedule.status).word.toLowerCase()}`
          : dueText(nextWindow(schedule, windows), now)}
      </span>
    </>
  );
}

type CellsProps = { windows: BulkExport[]; current: string | undefined };

function Cells({ windows, current }: CellsProps) {
  const workspace = useWorkspaceId();
  return (
    <ol className="windows" aria-label="Windows">
      {windows.toReversed().map((each) => (
        <li key={each.id}>
          <Link
            to={pathTo(workspace, `/exports/${each.id}`)}
            className={`${cellOf(each)} ${lateRowsOf(each) > 0 ? "late" : ""}`}
            aria-current={each.id === current ? "page" : undefined}
            title={windowTitle(each)}
          >
            <span className="sr">{windowTitle(each)}</span>
          </Link>
        </li>
      ))}
    </ol>
  );
}

function lateRowsOf({ progress }: BulkExport): number {
  return progress?.late_rows_written ?? 0;
}

function windowTitle(each: BulkExport): string {
  const late = lateRowsOf(each);
  const rows = formatNumber(each.progress?.rows_written ?? 0);
  const text = `${rangeText(each)}: ${showExportStatus(each.status).word}, ${rows} rows`;
  return late > 0 ? `${text}, ${formatNumber(late)} of them late` : text;
}

/** The windows as a table, the newest first. */
export function WindowTable({ schedule, isPaused }: Props) {
  const query = useApiQuery<BulkExport[]>(EXPORTS, windowsQuery(schedule.id, isPaused));
  const windows = query.data ?? [];
  if (windows.length === 0) return null;
  return (
    <Panel title="Exports of this schedule">
      <DataTable
        label="Exports of this schedule"
        columns={COLUMNS}
        rows={windows}
        keyOf={({ id }) => id}
        isFailed={({ status }) => status === "FAILED" || status === "TIMEDOUT"}
      />
    </Panel>
  );
}

const COLUMNS: TableColumn<BulkExport>[] = [
  { id: "window", header: "Window", cell: (row) => <WindowLink bulkExport={row} /> },
  { id: "status", header: "Status", cell: (row) => <ExportStatus bulkExport={row} />, card: "end" },
  {
    id: "rows",
    header: "Rows",
    cell: ({ progress }) => <Quantity value={progress?.rows_written ?? null} />,
    isRightAligned: true,
    card: "hidden",
  },
  {
    id: "late",
    header: "Late rows",
    cell: (row) => (lateRowsOf(row) > 0 ? <b className="wait">{lateRowsOf(row)}</b> : 0),
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

function WindowLink({ bulkExport }: { bulkExport: BulkExport }) {
  const workspace = useWorkspaceId();
  return (
    <Link to={pathTo(workspace, `/exports/${bulkExport.id}`)} className="nw m text-ink">
      {rangeText(bulkExport)}
    </Link>
  );
}
