import { Link } from "@tanstack/react-router";
import type { BulkExport } from "../../exports/schema.ts";
import { useApiQuery, useWorkspaceId } from "../api/hooks.ts";
import { pathTo } from "../state/path.ts";
import { Weave } from "../ui/chart/weave.tsx";
import { DataTable, type TableColumn } from "../ui/data-table.tsx";
import { formatCount } from "../ui/formats.ts";
import { Panel } from "../ui/panel.tsx";
import { useNow } from "../ui/values.tsx";
import { EXPORTS, useProjectNames } from "./names.ts";
import { cellOf, windowsText } from "./window-cells.ts";
import { dueText, nextWindow } from "./windows.ts";

const POLL_MS = 10_000;
/** Windows in the strip of a schedule. */
const WINDOWS = 28;
/** Schedules in the list. */
const SHOWN = 20;

/** Lists the active schedules, each with its last windows. Draws nothing without any. */
export function Schedules({ isPaused }: { isPaused: boolean }) {
  const { data: schedules = [] } = useApiQuery<BulkExport[]>(EXPORTS, {
    query: { status: "INTERVAL_SCHEDULED", limit: SHOWN },
    poll: isPaused ? false : POLL_MS,
  });
  const projectOf = useProjectNames(schedules);
  if (schedules.length === 0) return null;
  const columns: TableColumn<BulkExport>[] = [
    {
      id: "project",
      header: "Project",
      cell: ({ id, session_id }) => <Name id={id} project={projectOf(session_id)} />,
    },
    {
      id: "every",
      header: "Every",
      cell: ({ interval_hours }) => <span className="nw">{interval_hours} h</span>,
      card: "end",
    },
    {
      id: "windows",
      header: "Windows, oldest first",
      cell: (row) => <Windows schedule={row} isPaused={isPaused} />,
      card: "full",
      width: "50%",
    },
  ];
  return (
    <Panel
      title="Schedules"
      footer={
        schedules.length < SHOWN
          ? formatCount(schedules.length, "schedule")
          : `The newest ${SHOWN} schedules`
      }
    >
      <DataTable label="Schedules" columns={columns} rows={schedules} keyOf={({ id }) => id} />
    </Panel>
  );
}

function Name({ id, project }: { id: string; project: string }) {
  const workspace = useWorkspaceId();
  return (
    <Link
      to={pathTo(workspace, `/exports/${id}`)}
      className="cut block max-w-[min(440px,60vw)] m text-ink"
      title={project}
    >
      {project}
    </Link>
  );
}

function Windows({ schedule, isPaused }: { schedule: BulkExport; isPaused: boolean }) {
  const { data = [] } = useApiQuery<BulkExport[]>(EXPORTS, windowsQuery(schedule.id, isPaused));
  const now = useNow();
  const failed = data.find(({ error }) => error !== null);
  return (
    <div className="row">
      <Weave
        className="grow"
        label={windowsText(data)}
        cells={data
          .slice(0, WINDOWS)
          .reverse()
          .map(({ id, status }) => ({ key: id, kind: cellOf({ status }) }))}
      />
      <span className={`sm nw ${failed ? "err" : "dim"}`} title={failed?.error ?? undefined}>
        {dueText(nextWindow(schedule, data), now)}
      </span>
    </div>
  );
}

export const WINDOWS_PAGE = 100;

/** Returns the options of the read of a schedule's windows, whose cache entry the list and the page share. */
export function windowsQuery(schedule_id: string, isPaused: boolean) {
  return {
    query: { source_bulk_export_id: schedule_id, limit: WINDOWS_PAGE },
    poll: isPaused ? (false as const) : POLL_MS,
  };
}
