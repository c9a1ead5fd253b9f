import { getRouteApi, Link } from "@tanstack/react-router";
import type { Alert, AlertDeliveries } from "../../../control-plane/alerts/alert-schema.ts";
import type { Project } from "../../../traces/projects/schema.ts";
import { conditionOf, METRIC_TEXTS, runsOf } from "../../alerts/alert-texts.ts";
import { ALERTS } from "../../alerts/monitor-tabs.tsx";
import { useApiQuery, useWorkspaceId } from "../../api/hooks.ts";
import { apiPath, under } from "../../api/path.ts";
import { useMay } from "../../api/session.ts";
import { pathTo } from "../../state/path.ts";
import { DeliveryItem } from "../../ui/blocks/delivery-item.tsx";
import { formatNumber } from "../../ui/formats.ts";
import { Icon } from "../../ui/icon.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { Time } from "../../ui/values.tsx";
import { AlertActions } from "./alert-actions.tsx";
import { AlertStatus } from "./alert-status.tsx";

const route = getRouteApi("/w/$workspace/monitor/alerts");
const POLL_MS = 10_000;

type Props = { alert: Alert; isPaused: boolean };

/** An alert: its state, its condition, its webhooks. */
export function AlertDetail({ alert, isPaused }: Props) {
  const mayWrite = useMay("write");
  const navigate = route.useNavigate();
  return (
    <div className="stack">
      <Panel
        title={<span className="break-words">{alert.name}</span>}
        end={
          mayWrite && <AlertActions alert={alert} onDeleted={() => void navigate({ search: {} })} />
        }
      >
        <div className="in-p grid gap-3">
          {alert.problem !== null && (
            <div className="note wait">
              <Icon name="status-partial" />
              <div className="break-words">The last evaluation had no value: {alert.problem}</div>
            </div>
          )}
          <Facts alert={alert} />
          <div>
            <RunsLink alert={alert} />
          </div>
        </div>
      </Panel>
      <Deliveries id={alert.id} isPaused={isPaused} />
    </div>
  );
}

function Facts({ alert }: { alert: Alert }) {
  const { metric, value, episode, evaluated_at, filter, feedback_key, webhook } = alert;
  return (
    <dl className="kv">
      <dt>State</dt>
      <dd>
        <AlertStatus alert={alert} />
      </dd>
      <dt>Value</dt>
      <dd>
        {value === null ? "none" : METRIC_TEXTS[metric].format(value)}
        {evaluated_at !== null && (
          <span className="dim">
            {" "}
            <Time at={evaluated_at} />
          </span>
        )}
      </dd>
      <dt>Condition</dt>
      <dd>{conditionOf(alert)}</dd>
      {alert.session_id !== null && (
        <>
          <dt>Runs</dt>
          <dd>
            {alert.is_root ? "root runs" : "all runs"} of <ProjectName id={alert.session_id} />
          </dd>
        </>
      )}
      {filter !== null && (
        <>
          <dt>Filter</dt>
          <dd>
            <code>{filter}</code>
          </dd>
        </>
      )}
      {feedback_key !== null && (
        <>
          <dt>Feedback</dt>
          <dd>
            <code>{feedback_key}</code>
          </dd>
        </>
      )}
      <dt>Episodes</dt>
      <dd>{formatNumber(episode)}</dd>
      <dt>Webhook</dt>
      <dd>
        <code>{webhook}</code>
      </dd>
    </dl>
  );
}

function ProjectName({ id }: { id: string }) {
  const { data } = useApiQuery<Project[]>(apiPath`/api/v1/sessions`, { query: { id } });
  return <b className="m">{data?.[0]?.name ?? id}</b>;
}

/** Links to the runs that the alert is about, or to the quotas. */
function RunsLink({ alert }: { alert: Alert }) {
  const workspace = useWorkspaceId();
  const search = runsOf(alert);
  if (search === null) {
    return (
      <Link to={pathTo(workspace, "/settings/usage")} className="btn">
        <Icon name="chart" /> Open the quotas
      </Link>
    );
  }
  return (
    <Link to={pathTo(workspace, "/traces")} search={search} className="btn">
      <Icon name="trace" />
      {alert.status === "firing" ? "Open the runs since it fires" : "Open the runs of its window"}
    </Link>
  );
}

function Deliveries({ id, isPaused }: { id: string; isPaused: boolean }) {
  const query = useApiQuery<AlertDeliveries>(under(ALERTS)`/${id}/deliveries`, {
    poll: isPaused ? false : POLL_MS,
  });
  return (
    <Panel title="Webhooks" footer="The last 20, the newest first. They are kept for a month.">
      <QueryState query={query} what="The webhooks could not be read" rows={3}>
        {({ deliveries }) =>
          deliveries.length === 0 ? (
            <p className="in-p dim">
              None yet. One is sent when the alert fires, and one at its end.
            </p>
          ) : (
            <ul aria-label="Webhooks">
              {deliveries.map((delivery) => (
                <DeliveryItem key={delivery.id} delivery={delivery} />
              ))}
            </ul>
          )
        }
      </QueryState>
    </Panel>
  );
}
