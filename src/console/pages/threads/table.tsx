import { Link } from "@tanstack/react-router";
import { useWorkspaceId } from "../../api/hooks.ts";
import type { ThreadItem } from "../../runs/stream/agent.ts";
import { showThread } from "../../runs/stream/run-status.ts";
import { pathTo } from "../../state/path.ts";
import { DataTable, type TableColumn } from "../../ui/data-table.tsx";
import { Status } from "../../ui/status.tsx";
import { Time } from "../../ui/values.tsx";
import { questionOf } from "../overview/question.ts";
import { tagsOf, titleOf } from "./title.ts";

type Props = { deployment: string; rows: ThreadItem[] };

export function ThreadTable({ deployment, rows }: Props) {
  const columns: TableColumn<ThreadItem>[] = [
    {
      id: "thread",
      header: "Thread",
      cell: (row) => <Title deployment={deployment} row={row} />,
      width: "44%",
    },
    { id: "status", header: "Status", cell: (row) => <State row={row} />, card: "end" },
    { id: "metadata", header: "Metadata", cell: (row) => <Tags row={row} />, card: "hidden" },
    {
      id: "changed",
      header: "Changed",
      cell: (row) => <Time at={row.updated_at ?? null} />,
      isNumber: true,
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
        {thread_id.slice(0, 8)}
      </code>
    </div>
  );
}

function State({ row: { status, interrupts, error } }: { row: ThreadItem }) {
  const { kind, word } = showThread(status);
  const note = status === "interrupted" ? questionOf(interrupts) : error?.error;
  return (
    <div className="grid justify-items-start">
      <Status kind={kind} plain={kind === "idle"}>
        {word}
      </Status>
      {note && <span className="sm dim cut max-w-60 hide-m">{note}</span>}
    </div>
  );
}

function Tags({ row }: { row: ThreadItem }) {
  return (
    <span className="row">
      {tagsOf(row).map((tag) => (
        <span key={tag} className="tag">
          {tag}
        </span>
      ))}
    </span>
  );
}
