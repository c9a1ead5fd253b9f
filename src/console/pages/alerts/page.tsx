import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import type { Alert, AlertList } from "../../../control-plane/alerts/alert-schema.ts";
import { conditionOf, METRIC_TEXTS } from "../../alerts/alert-texts.ts";
import { ALERTS, MonitorTabs } from "../../alerts/monitor-tabs.tsx";
import { useApiQuery } from "../../api/hooks.ts";
import { useMay } from "../../api/session.ts";
import { LiveControl, usePolling } from "../../shell/live-control.tsx";
import { TopBar } from "../../shell/top-bar.tsx";
import { DataTable, type TableColumn } from "../../ui/data-table.tsx";
import { formatCount } from "../../ui/formats.ts";
import { Icon } from "../../ui/icon.tsx";
import { Empty, PageHeader, Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { AlertDetail } from "./alert-detail.tsx";
import { AlertForm } from "./alert-form.tsx";
import { AlertStatus } from "./alert-status.tsx";

const route = getRouteApi("/w/$workspace/monitor/alerts");
const POLL_MS = 10_000;
const ABOVE = [{ label: "Monitor", path: "/monitor" }];

export function AlertsPage() {
  const { alert } = route.useSearch();
  const polling = usePolling();
  const query = useApiQuery<AlertList>(ALERTS, { poll: polling.isPaused ? false : POLL_MS });
  const chosen = query.data?.alerts.find(({ id }) => id === alert);
  return (
    <>
      <TopBar above={ABOVE} title="Alerts">
        <LiveControl polling={polling} query={query} title="Read every 10 s" />
      </TopBar>
      <PageHeader
        title="Alerts"
        sub="A URL receives a signed webhook when a condition begins to hold, and another one when it ends."
        actions={<NewAlert />}
      />
      <MonitorTabs />
      <QueryState query={query} what="The alerts could not be read">
        {({ alerts }) => (
          <div className={chosen ? "g2 g2-even" : "stack"}>
            <Panel title="Alerts" footer={footerOf(alerts)}>
              {alerts.length === 0 ? (
                <NoAlerts />
              ) : (
                <DataTable
                  label="Alerts"
                  columns={chosen ? COLUMNS.slice(0, 2) : COLUMNS}
                  rows={[...alerts].sort(byState)}
                  keyOf={({ id }) => id}
                  isFailed={({ status }) => status === "firing"}
                  selected={alert ?? null}
                />
              )}
            </Panel>
            {chosen && <AlertDetail key={chosen.id} alert={chosen} isPaused={polling.isPaused} />}
          </div>
        )}
      </QueryState>
    </>
  );
}

function NewAlert() {
  const [isOpen, setOpen] = useState(false);
  const navigate = route.useNavigate();
  if (!useMay("write")) return null;
  return (
    <>
      <button type="button" className="btn pri" onClick={() => setOpen(true)}>
        <Icon name="plus" /> New alert
      </button>
      {isOpen && (
        <AlertForm
          onSaved={({ id }) => {
            setOpen(false);
            void navigate({ search: { alert: id } });
          }}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

function NoAlerts() {
  const mayWrite = useMay("write");
  return (
    <Empty title="No alerts">
      An alert compares a figure of a project, such as its error rate, or the usage of a quota with
      a threshold each minute.{" "}
      {mayWrite ? "Create one with New alert." : "Editors and admins create alerts."}
    </Empty>
  );
}

function footerOf(alerts: Alert[]): string {
  const firing = alerts.filter(({ status }) => status === "firing").length;
  const count = formatCount(alerts.length, "alert");
  return `${count}, ${firing} firing. Each is evaluated every minute, with a window of more than an hour every 5 minutes.`;
}

/** Sorts alerts that fire first, the newest episode first; the others stay in the order of the list. */
function byState(a: Alert, b: Alert): number {
  return Date.parse(b.started_at ?? "1970-01-01") - Date.parse(a.started_at ?? "1970-01-01");
}

const COLUMNS: TableColumn<Alert>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ id, name }) => (
      <route.Link to="." search={{ alert: id }} className="m text-ink cut block" title={name}>
        {name}
      </route.Link>
    ),
    width: "36%",
  },
  {
    id: "state",
    header: "State",
    cell: (alert) => <AlertStatus alert={alert} />,
    card: "full",
  },
  { id: "condition", header: "Condition", cell: conditionOf, card: "full" },
  {
    id: "value",
    header: "Value",
    cell: ({ metric, value }) => (value === null ? null : METRIC_TEXTS[metric].format(value)),
    isRightAligned: true,
    card: "hidden",
  },
];
