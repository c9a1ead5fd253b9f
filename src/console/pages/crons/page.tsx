import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import type { FoundCron } from "../../../agent-server/crons/schema.ts";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { under } from "../../api/path.ts";
import { useMay } from "../../api/session.ts";
import { useItem } from "../../api/use-item.ts";
import { ServingPage } from "../../runs/serving-page.tsx";
import { agentPath } from "../../runs/stream/agent.ts";
import { LiveControl, type Polling, usePolling } from "../../shell/live-control.tsx";
import { TopBar } from "../../shell/top-bar.tsx";
import { NoRows, Pager } from "../../ui/blocks/pager.tsx";
import { DataTable, type TableColumn } from "../../ui/data-table.tsx";
import { shortId } from "../../ui/formats.ts";
import { Icon } from "../../ui/icon.tsx";
import { Empty, PageHeader, Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { Status } from "../../ui/status.tsx";
import { CronForm } from "./cron-form.tsx";
import { CronDetail } from "./detail.tsx";
import { NextRun } from "./next-run.tsx";
import { Starts } from "./starts.tsx";

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
  const path = agentPath(deployment.id)`/runs/crons`;
  const query = useApiQuery<FoundCron[]>(under(path)`/search`, {
    post: { limit: PAGE, offset, sort_by: "created_at", sort_order: "desc" },
    poll: polling.isPaused ? false : POLL_MS,
    keepPrevious: true,
  });
  const listed = query.data?.find(({ cron_id }) => cron_id === cron);
  const chosen = useItem(cron === undefined ? null : under(path)`/${cron}`, listed, {
    poll: polling.isPaused ? false : POLL_MS,
  });
  return (
    <>
      <TopBar title="Crons">
        <LiveControl polling={polling} query={query} title="Read every 5 s" />
      </TopBar>
      <QueryState query={query} what="The crons could not be read">
        {(rows) => (
          <div className={chosen ? "g2 g2-even" : "stack"}>
            <Panel
              title="Crons"
              end={<NewCron deployment={deployment.id} />}
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
              {rows.length === 0 ? (
                <NoRows noun="cron" offset={offset}>
                  <NoCrons />
                </NoRows>
              ) : (
                <CronTable rows={rows} chosen={cron} deployment={deployment.id} />
              )}
            </Panel>
            {chosen && (
              <CronDetail cron={chosen} deployment={deployment.id} isPaused={polling.isPaused} />
            )}
          </div>
        )}
      </QueryState>
    </>
  );
}

function NoCrons() {
  return (
    <Empty title="No crons">
      A cron starts runs by a schedule. It is created here, or by an SDK:{" "}
      <code>client.crons.create</code>. Its next and last runs appear here.
    </Empty>
  );
}

function NewCron({ deployment }: { deployment: string }) {
  const [isOpen, setOpen] = useState(false);
  const navigate = route.useNavigate();
  if (!useMay("write")) return null;
  return (
    <>
      <button type="button" className="btn sm" onClick={() => setOpen(true)}>
        <Icon name="plus" small /> New cron
      </button>
      {isOpen && (
        <CronForm
          deployment={deployment}
          onSaved={({ cron_id }) => {
            setOpen(false);
            void navigate({ search: { deployment, cron: cron_id } });
          }}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

type TableProps = { rows: FoundCron[]; chosen: string | undefined; deployment: string };

function CronTable({ rows, chosen, deployment }: TableProps) {
  return (
    <DataTable
      label="Crons"
      columns={columnsOf(deployment)}
      rows={rows}
      keyOf={({ cron_id }) => cron_id ?? ""}
      selected={chosen ?? null}
    />
  );
}

const columnsOf = (deployment: string): TableColumn<FoundCron>[] => [
  { id: "schedule", header: "Schedule", cell: (row) => <Schedule cron={row} /> },
  {
    id: "starts",
    header: "Starts",
    cell: (row) => <Starts cron={row} deployment={deployment} />,
    card: "full",
  },
  {
    id: "target",
    header: "Runs on",
    cell: ({ thread_id }) =>
      thread_id ? (
        <span>
          thread <code title={thread_id}>{shortId(thread_id)}</code>
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
