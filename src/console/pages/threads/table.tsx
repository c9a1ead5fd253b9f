import { Link } from "@tanstack/react-router";
import { useWorkspaceId } from "../../api/hooks.ts";
import { questionOf } from "../../runs/question.ts";
import type { RunItem, ThreadItem } from "../../runs/stream/agent.ts";
import { showRun, showThread } from "../../runs/stream/run-status.ts";
import { pathTo } from "../../state/path.ts";
import { Tags } from "../../ui/blocks/tags.tsx";
import { Weave } from "../../ui/chart/weave.tsx";
import type { WeaveKind } from "../../ui/chart/weave-cell.ts";
import { DataTable, type TableColumn } from "../../ui/data-table.tsx";
import { shortId } from "../../ui/formats.ts";
import { Status } from "../../ui/status.tsx";
import { Time } from "../../ui/values.tsx";
import { tagsOf, titleOf } from "./title.ts";

/** Number of runs in the strip of a thread. */
export const RUNS_SHOWN = 16;
const MAX_TAGS = 3;

type Props = { deployment: string; rows: ThreadItem[] };

export function ThreadTable({ deployment, rows }: Props) {
  const columns: TableColumn<ThreadItem>[] = [
    {
      id: "thread",
      header: "Thread",
      cell: (row) => <Title deployment={deployment} row={row} />,
      width: "36%",
    },
    { id: "status", header: "Status", cell: (row) => <State row={row} />, card: "end" },
    { id: "runs", header: "Runs, in order", cell: (row) => <Runs row={row} />, card: "full" },
    {
      id: "metadata",
      header: "Metadata",
      cell: (row) => <Tags tags={tagsOf(row)} max={MAX_TAGS} />,
      card: "hidden",
    },
    {
      id: "changed",
      header: "Changed",
      cell: (row) => <Time at={row.updated_at ?? null} />,
      isRightAligned: true,
      card: "hidden",
    },
  ];
  return (
    <DataTable
      label="Threads"
      columns={columns}
      rows={rows}
      keyOf={({ thread_id }) => thread_id ?? ""}
      isFailed={({ status }) => status === "error"}
    />
  );
}

function Title({ deployment, row }: { deployment: string; row: ThreadItem }) {
  const workspace = useWorkspaceId();
  const { thread_id = "" } = row;
  const title = titleOf(row);
  return (
    <div className="grid">
      <Link
        to={pathTo(workspace, `/threads/${deployment}/${thread_id}`)}
        className="cut m text-ink max-w-[min(440px,60vw)]"
        title={title}
      >
        {title}
      </Link>
      <code className="sha dim xs" title={thread_id}>
        {shortId(thread_id)}
      </code>
    </div>
  );
}

function State({ row }: { row: ThreadItem }) {
  const { interrupts, error } = row;
  const { kind, word } = showThread(row, row.recent_runs?.at(-1));
  const note = kind === "waiting" ? questionOf(interrupts) : error?.error;
  return (
    <div className="grid justify-items-start">
      <Status kind={kind} plain={kind === "idle"}>
        {word}
      </Status>
      {note && <span className="sm dim cut max-w-60 hide-m">{note}</span>}
    </div>
  );
}

const CELLS: Record<RunItem["status"], WeaveKind> = {
  pending: "queued",
  running: "running",
  success: "ok",
  error: "failed",
  timeout: "failed",
  interrupted: "cancelled",
};

/**
 * Draws the last runs of a thread. An interrupt ends its run with `success`, so the last such run of a waiting thread is
 * the one that waits.
 */
function Runs({ row }: { row: ThreadItem }) {
  const { recent_runs = [] } = row;
  const shown = recent_runs.slice(-RUNS_SHOWN);
  if (shown.length === 0) return null;
  const isWaiting = showThread(row, recent_runs.at(-1)).kind === "waiting";
  const waiting = isWaiting ? shown.lastIndexOf("success") : -1;
  const count = recent_runs.length > RUNS_SHOWN ? `${RUNS_SHOWN}+` : String(shown.length);
  const words = shown.map((each, n) => (n === waiting ? "waiting" : showRun(each).word));
  return (
    <span className="row">
      <span className="sm dim nw md:w-6 md:text-right">{count}</span>
      <Weave
        className="runs-weave"
        label={`${count === "1" ? "1 run" : `${count} runs`}: ${words.join(", ").toLowerCase()}`}
        cells={shown.map((each, n) => ({
          key: n,
          kind: n === waiting ? "waiting" : CELLS[each],
        }))}
      />
    </span>
  );
}
