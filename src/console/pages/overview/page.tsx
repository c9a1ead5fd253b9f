import type { DeploymentsList } from "../../../control-plane/deployments/schema.ts";
import type { BulkExport } from "../../../exports/schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { DeploymentTable, pollOf } from "../../deployments/table.tsx";
import { EXPORTS } from "../../exports/names.ts";
import { ExportTable } from "../../exports/table.tsx";
import { TopBar } from "../../shell/top-bar.tsx";
import { LivePill, liveStateOf } from "../../ui/live-pill.tsx";
import { PageHeader, Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { Invitations } from "../../workspace/invitations.tsx";
import { Failing } from "./failing.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { Waiting } from "./waiting.tsx";

const POLL_MS = 5000;
const SHOWN = 100;
const SHOWN_EXPORTS = 5;

/** Shows threads that wait for a person and failures first, and then the deployments. */
export function OverviewPage() {
  const query = useApiQuery<DeploymentsList>(apiPath`/v2/deployments`, {
    query: { limit: SHOWN },
    poll: pollOf,
  });
  return (
    <>
      <TopBar title="Overview">
        <LivePill
          state={liveStateOf(query)}
          title="Read every 5 s, every 2 s while a revision builds, while this page is visible"
        />
      </TopBar>
      <PageHeader title="Overview" />
      <Invitations />
      <QueryState query={query} what="The deployments could not be read">
        {({ resources }) =>
          resources.length === 0 ? (
            <FirstSteps />
          ) : (
            <div className="stack">
              <div className="g2">
                <Waiting deployments={resources} />
                <Failing deployments={resources} />
              </div>
              <RunningExports />
              <Panel
                title="Deployments"
                footer={resources.length === SHOWN ? `The ${SHOWN} oldest deployments` : undefined}
              >
                <DeploymentTable rows={resources} />
              </Panel>
            </div>
          )
        }
      </QueryState>
    </>
  );
}

/** Lists the newest exports in progress. Draws nothing without any. */
function RunningExports() {
  const { data: running = [] } = useApiQuery<BulkExport[]>(EXPORTS, {
    query: { status: "RUNNING", limit: SHOWN_EXPORTS },
    poll: POLL_MS,
  });
  if (running.length === 0) return null;
  return (
    <Panel
      title="Exports in progress"
      footer={running.length === SHOWN_EXPORTS ? `The newest ${SHOWN_EXPORTS}` : undefined}
    >
      <ExportTable rows={running} />
    </Panel>
  );
}
