import type { DeploymentsList } from "../../../control-plane/deployments/schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { DeploymentTable } from "../deployments/table.tsx";

const POLL_MS = 5000;

export function BrokenNow() {
  const query = useApiQuery<DeploymentsList>("/v2/deployments", {
    query: { limit: 100 },
    poll: POLL_MS,
  });
  return (
    <QueryState query={query} what="The deployments could not be read">
      {({ resources }) => (
        <Panel title="Deployments">
          <DeploymentTable rows={resources} />
        </Panel>
      )}
    </QueryState>
  );
}
