import { getRouteApi } from "@tanstack/react-router";
import type { FoundCron } from "../../../agent-server/crons/schema.ts";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { ServingPage } from "../../runs/serving-page.tsx";
import { LiveControl, type Polling, usePolling } from "../../shell/live-control.tsx";
import { TopBar } from "../../shell/top-bar.tsx";
import { Pager } from "../../ui/blocks/pager.tsx";
import { DataTable, type TableColumn } from "../../ui/data-table.tsx";
import { Empty, PageHeader, Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { Status } from "../../ui/status.tsx";
import { CronDetail } from "./detail.tsx";
import { NextRun } from "./next-run.tsx";

const route = getRouteApi("/w/$workspace/crons");
const POLL_MS = 5000;
const PAGE = 50;

export function CronsPage() {
  const { deployment } = route.useSearch();
  const navigate = route.useNavigate();
  const polling = usePolling();
  return (
    <>
      <PageHeader title="Crons" sub="Schedules that start runs of an agent." />
      <ServingPage
        wanted={deployment}
        onChange={(id) => void navigate({ search: { deployment: id } })}
      >
        {(chosen) => <Crons key={chosen.id} deployment={chosen} polling={polling} />}
      </ServingPage>
    </>
  );
}

type Props = { deployment: Deployment; polling: Polling };

function Crons({ deployment, polling }: Props) {
  const { cron, offset = 0 } = route.useSearch();
  const navigate = route.useNavigate();
  const path = `/agents/${deployment.id}/runs/crons`;
  const query = useApiQuery<FoundCron[]>(`${path}/search`, {
    post: { limit: PAGE, offset, sort_by: "created_at", sort_order: "desc" },
    poll: polling.isPaused ? false : POLL_MS,
    keepPrevious: true,
  });
  const chosen = query.data?.find(({ cron_id }) => cron_id === cron);
  return (
    <>
      <TopBar title="Crons">
        <LiveControl polling={polling} query={query} title="Read every 5 s" />
      </TopBar>
      <QueryState query={query} what="The crons could not be read">
        {(rows) => (
          <div className={chosen ? "g2 g2-even" : "stack"}>
            <Panel
              label="Crons"
              footer={
                <Pager
                  noun="cron"
                  offset={offset}
                  count={rows.length}
                  size={PAGE}
                  onChange={(next) =>
                    void navigate({ search: (former) => ({ ...former, offset: next }) })
                  }
                />
              }
            >
              {rows.length === 0 ? <NoCrons /> : <CronTable rows={rows} chosen={cron} />}
            </Panel>
            {chosen && <CronDetail cron={chosen} path={path} isPaused={polling.isPaused} />}
          </div>
        )}
      </QueryState>
    </>
  );
}

function NoCrons() {
  return (
    <Empty title="No crons">
      A cron is created by the API or an SDK: <code>client.crons.create</code>. Its next and last
      runs appear here.
    </Empty>
  );
}

function CronTable({ rows, chosen }: { rows: FoundCron[]; chosen: string | undefined }) {
  return (
    <DataTable
      label="Crons"
      columns={COLUMNS}
      rows={rows}
      keyOf={({ cron_id }) => cron_id ?? ""}
      selected={chosen ?? null}
    />
  );
}

const COLUMNS: TableColumn<FoundCron>[] = [
  { id: "schedule", header: "Schedule", cell: (row) => <Schedule cron={row} /> },
  {
    id: "target",
    header: "Runs on",
    cell: ({ thread_id }) =>
      thread_id ? (
        <span>
          thread <code title={thread_id}>{thread_id.slice(0, 8)}</code>
        </span>
      ) : (
        "new threads"
      ),
    card: "full",
  },
  {
    id: "next",
    header: "Next run",
    cell: (row) => <NextRun cron={row} />,
    card: "full",
  },
  {
    id: "state",
    header: "State",
    cell: ({ enabled }) => (
      <Status kind={enabled ? "ok" : "idle"} plain={enabled === true}>
        {enabled ? "Enabled" : "Paused"}
      </Status>
    ),
    card: "end",
  },
];

function Schedule({ cron: { cron_id, schedule, timezone } }: { cron: FoundCron }) {
  return (
    <span className="row">
      <route.Link
        to="."
        search={(former) => ({ ...former, cron: cron_id })}
        className="mono m text-ink cut"
        title={schedule}
      >
        {schedule}
      </route.Link>
      <span className="dim sm cut">{timezone ?? "UTC"}</span>
    </span>
  );
}
