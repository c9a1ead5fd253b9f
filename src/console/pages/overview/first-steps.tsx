import { Link } from "@tanstack/react-router";
import { useWorkspaceId } from "../../api/hooks.ts";
import { useMay } from "../../api/session.ts";
import { pathTo } from "../../state/path.ts";
import { Icon } from "../../ui/icon.tsx";
import { Empty, Panel } from "../../ui/panel.tsx";

export function FirstSteps() {
  const workspace = useWorkspaceId();
  const mayWrite = useMay("write");
  return (
    <Panel>
      <Empty
        title="Nothing is deployed yet"
        action={
          mayWrite && (
            <Link to={pathTo(workspace, "/deployments/new")} className="btn pri">
              <Icon name="plus" /> New deployment
            </Link>
          )
        }
      >
        Threads that wait for a person, failed builds and failed exports appear here once an agent
        runs.
        {!mayWrite && " Editors and admins create deployments."}
      </Empty>
    </Panel>
  );
}
