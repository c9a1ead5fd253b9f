import { getRouteApi } from "@tanstack/react-router";
import type {
  AuditLog,
  AuditLogsList,
} from "../../../../control-plane/workspaces/audit/audit-schema.ts";
import { useApiQuery } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { useMay } from "../../../api/session.ts";
import { LiveControl, usePolling } from "../../../shell/live-control.tsx";
import { DataTable, type TableColumn } from "../../../ui/data-table.tsx";
import { Empty, Panel } from "../../../ui/panel.tsx";
import { QueryState } from "../../../ui/states.tsx";
import { Status } from "../../../ui/status.tsx";
import { Id, Time } from "../../../ui/values.tsx";
import { CursorPager } from "../frame/cursor-pager.tsx";
import { SectionHead } from "../frame/head.tsx";
import { AuditFilter } from "./audit-filter.tsx";

const route = getRouteApi("/w/$workspace/settings/$section");
const POLL_MS = 10_000;
const PAGE = 50;
const FIRST_CLIENT_ERROR = 400;

/** Lists changes and refused requests, the newest first. */
export function AuditLogSection() {
  if (useMay("admin")) return <Log />;
  return (
    <>
      <SectionHead title="Audit log" sub="Changes and refused requests." />
      <Empty title="The audit log is for admins">Admins of the workspace read it.</Empty>
    </>
  );
}

function Log() {
  const { action, actor, resource, since, cursor } = route.useSearch();
  const polling = usePolling();
  const query = useApiQuery<AuditLogsList>(apiPath`/v1/audit-logs`, {
    query: {
      ...{ limit: PAGE, cursor, action },
      ...{ actor_id: actor, resource_id: resource, start_time: since && `${since}T00:00:00Z` },
    },
    poll: polling.isPaused || cursor !== undefined ? false : POLL_MS,
    keepPrevious: true,
  });
  return (
    <>
      <SectionHead
        title="Audit log"
        sub="Changes and refused requests, the newest first."
        live={<LiveControl polling={polling} query={query} title="Read every 10 s" />}
      />
      <AuditFilter />
      <QueryState query={query} what="The audit log could not be read">
        {({ resources, next_cursor }) => (
          <Panel
            label="Audit log"
            footer={
              <CursorPager
                noun="entry"
                nouns="entries"
                count={resources.length}
                next={next_cursor}
              />
            }
          >
            {resources.length === 0 ? (
              <Empty title="No entries">Change the filter: nothing matches it.</Empty>
            ) : (
              <DataTable
                label="Audit log"
                columns={COLUMNS}
                rows={resources}
                keyOf={({ id }) => id}
                isFailed={({ status }) => status >= FIRST_CLIENT_ERROR}
              />
            )}
          </Panel>
        )}
      </QueryState>
    </>
  );
}

const COLUMNS: TableColumn<AuditLog>[] = [
  {
    id: "action",
    header: "Action",
    cell: ({ action }) => <FilterLink name="action" value={action} />,
  },
  {
    id: "time",
    header: "Time",
    cell: ({ created_at }) => <Time at={created_at} exact />,
    card: "end",
  },
  { id: "actor", header: "By", cell: (row) => <Actor entry={row} />, card: "full" },
  { id: "resources", header: "Resources", cell: (row) => <Resources entry={row} />, card: "full" },
  {
    id: "status",
    header: "Answer",
    cell: ({ status }) => <Answer status={status} />,
    card: "hidden",
  },
];

type LinkProps = { name: "action" | "actor" | "resource"; value: string; short?: boolean };

/** A value of an entry, as a link to the entries with the same value. */
function FilterLink({ name, value, short = false }: LinkProps) {
  return (
    <route.Link
      to="."
      search={(former) => ({ ...former, [name]: value, cursor: undefined })}
      className="text-ink"
      title={`Show entries with ${value}`}
    >
      {short ? <Id id={value} isShort /> : <span className="m">{value}</span>}
    </route.Link>
  );
}

function Actor({ entry: { actor_type, actor_id, actor_name } }: { entry: AuditLog }) {
  return (
    <span className="row">
      {actor_name !== null && <bdi className="cut">{actor_name}</bdi>}
      <span className="dim sm">{actor_type === "api_key" ? "key" : actor_type}</span>
      <FilterLink name="actor" value={actor_id} short />
    </span>
  );
}

function Resources({ entry: { resources } }: { entry: AuditLog }) {
  return (
    <span className="row wrap">
      {resources.map(({ name, id }) => (
        <span key={`${name} ${id}`} className="sm">
          <span className="dim">{name}</span> <FilterLink name="resource" value={id} short />
        </span>
      ))}
    </span>
  );
}

function Answer({ status }: { status: number }) {
  if (status < FIRST_CLIENT_ERROR) return <span className="dim">{status}</span>;
  return (
    <Status kind="failed" plain>
      {status === 403 ? "Refused" : String(status)}
    </Status>
  );
}
