import { getRouteApi, Link } from "@tanstack/react-router";
import type { BulkExport } from "../../../exports/schema.ts";
import { useApiQuery, useWorkspaceId } from "../../api/hooks.ts";
import { Destinations } from "../../exports/destinations.tsx";
import { isExportActive, showExportStatus } from "../../exports/export-status.ts";
import { EXPORTS, useMayExport, useWhyNotExport } from "../../exports/names.ts";
import { Schedules } from "../../exports/schedules.tsx";
import { ExportTable } from "../../exports/table.tsx";
import { LiveControl, usePolling } from "../../shell/live-control.tsx";
import { TopBar } from "../../shell/top-bar.tsx";
import { pathTo } from "../../state/path.ts";
import { Pager } from "../../ui/blocks/pager.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Empty, PageHeader, Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { type ExportsSearch, SHOWN_STATUSES } from "./search.ts";

const route = getRouteApi("/w/$workspace/exports");
const ACTIVE_POLL_MS = 2000;
const POLL_MS = 10_000;
const PAGE = 50;

export function ExportsPage() {
  const { status, kind = "once", offset = 0 } = route.useSearch();
  const polling = usePolling();
  const query = useApiQuery<BulkExport[]>(EXPORTS, {
    query: { limit: PAGE, offset, status, kind },
    poll: (rows) => {
      if (polling.isPaused) return false;
      return rows?.some(isExportActive) ? ACTIVE_POLL_MS : POLL_MS;
    },
    keepPrevious: true,
  });
  const active = (query.data ?? []).filter(isExportActive).length;
  return (
    <>
      <TopBar title="Exports">
        <LiveControl
          polling={polling}
          query={query}
          note={active > 0 ? `${active} running` : undefined}
          title="Read every 2 s while an export is running, otherwise every 10 s"
        />
      </TopBar>
      <PageHeader
        title="Exports"
        sub="Traces as Parquet in your own bucket, exact to the microsecond, with a manifest that proves it."
        actions={<NewExportButtons />}
      />
      <div className="stack">
        <QueryState query={query} what="The exports could not be read">
          {(rows) => <List rows={rows} offset={offset} />}
        </QueryState>
        <Schedules isPaused={polling.isPaused} />
        <Destinations />
      </div>
    </>
  );
}

function NewExportButtons() {
  const workspace = useWorkspaceId();
  const why = useWhyNotExport();
  if (why !== null) return <span className="dim sm">{why}</span>;
  return (
    <>
      <Link to={pathTo(workspace, "/exports/destinations/new")} className="btn">
        <Icon name="bucket" /> Add destination
      </Link>
      <Link to={pathTo(workspace, "/exports/new")} className="btn pri">
        <Icon name="plus" /> New export
      </Link>
    </>
  );
}

function List({ rows, offset }: { rows: BulkExport[]; offset: number }) {
  const { status, kind } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Panel
      title="Exports"
      end={<Filters />}
      footer={
        <Pager
          noun="export"
          offset={offset}
          count={rows.length}
          size={PAGE}
          onChange={(next) => void navigate({ search: (former) => ({ ...former, offset: next }) })}
        />
      }
    >
      {rows.length === 0 ? (
        <NoExports kind={kind} isPart={status !== undefined || offset > 0} />
      ) : (
        <ExportTable rows={rows} />
      )}
    </Panel>
  );
}

const KINDS = [
  // The API lists these for `once`, the default of the page.
  { kind: undefined, word: "Once" },
  { kind: "schedule", word: "Schedules" },
  { kind: "window", word: "Windows of schedules" },
] as const;

function Filters() {
  const { kind, status } = route.useSearch();
  return (
    <>
      <nav className="seg" aria-label="Kind of the exports">
        {KINDS.map((each) => (
          <route.Link
            key={each.word}
            to="."
            search={{ status, kind: each.kind }}
            activeOptions={{ explicitUndefined: true }}
            aria-current={kind === each.kind ? "page" : undefined}
          >
            {each.word}
          </route.Link>
        ))}
      </nav>
      <nav className="seg" aria-label="Status of the exports">
        {[undefined, ...SHOWN_STATUSES].map((each) => (
          <route.Link
            key={each ?? "all"}
            to="."
            search={{ kind, status: each }}
            activeOptions={{ explicitUndefined: true }}
            aria-current={status === each ? "page" : undefined}
          >
            {each === undefined ? "All" : showExportStatus(each).word}
          </route.Link>
        ))}
      </nav>
    </>
  );
}

type NoExportsProps = {
  kind: ExportsSearch["kind"];
  /** Whether the list is filtered by status, or is not the first page. */
  isPart: boolean;
};

function NoExports({ kind, isPart }: NoExportsProps) {
  const workspace = useWorkspaceId();
  const mayExport = useMayExport();
  const schedule = kind === "schedule" ? kind : undefined;
  if (isPart || kind === "window")
    return <Empty title="No exports match">Change the filters or the page.</Empty>;
  return (
    <Empty
      title={schedule ? "No schedules" : "No exports yet"}
      action={
        mayExport && (
          <Link to={pathTo(workspace, "/exports/new")} search={{ kind: schedule }} className="btn">
            <Icon name="plus" /> {schedule ? "New schedule" : "New export"}
          </Link>
        )
      }
    >
      An export writes the runs of a project as Parquet files to a bucket of yours, once or on a
      schedule.
    </Empty>
  );
}
