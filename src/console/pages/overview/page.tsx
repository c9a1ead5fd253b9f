import type { DeploymentsList } from "../../../control-plane/deployments/schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { TopBar } from "../../shell/top-bar.tsx";
import { LivePill, liveStateOf } from "../../ui/live-pill.tsx";
import { PageHeader, Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { DeploymentTable } from "../deployments/table.tsx";
import { BrokenNow } from "./broken.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { Waiting } from "./waiting.tsx";

const POLL_MS = 5000;
const SHOWN = 100;

/** Items that wait for a person come first, then failures, then the deployments. */
export function OverviewPage() {
  const query = useApiQuery<DeploymentsList>("/v2/deployments", {
    query: { limit: SHOWN },
    poll: POLL_MS,
  });
  return (
    <>
      <TopBar title="Overview">
        <LivePill state={liveStateOf(query)} title="Read every 5 s while this page is visible" />
      </TopBar>
      <PageHeader title="Overview" />
      <QueryState query={query} what="The deployments could not be read">
        {({ resources }) =>
          resources.length === 0 ? (
            <FirstSteps />
          ) : (
            <div className="stack">
              <div className="g2">
                <Waiting deployments={resources} />
                <BrokenNow deployments={resources} />
              </div>
              <Panel title="Deployments">
                <DeploymentTable rows={resources} />
              </Panel>
            </div>
          )
        }
      </QueryState>
    </>
  );
}
