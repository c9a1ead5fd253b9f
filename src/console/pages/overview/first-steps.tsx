import { Link } from "@tanstack/react-router";
import { useWorkspaceId } from "../../api/hooks.ts";
import { useMay, useMe } from "../../api/session.ts";
import { CommandLine } from "../../deployments/command-line.tsx";
import { DeployExample, EXAMPLE_NOTE } from "../../deployments/deploy-example.tsx";
import { pathTo } from "../../state/path.ts";
import { Icon } from "../../ui/icon.tsx";
import { Empty, Panel } from "../../ui/panel.tsx";

/** The ways to a first deployment: an example, a repository, a folder. */
export function FirstSteps() {
  const mayWrite = useMay("write");
  const { examples_url } = useMe();
  return (
    <div className="stack">
      <Panel>
        <Empty
          title="Nothing is deployed yet"
          action={mayWrite && <Ways examples_url={examples_url} />}
        >
          Threads that wait for a person, and builds, runs and exports that failed, appear here once
          an agent runs.
          {!mayWrite && " Editors and admins create deployments."}
          {mayWrite && examples_url !== null && ` ${EXAMPLE_NOTE}`}
        </Empty>
      </Panel>
      {mayWrite && <CommandLine />}
    </div>
  );
}

function Ways({ examples_url }: { examples_url: string | null }) {
  const workspace = useWorkspaceId();
  return (
    <div className="row wrap justify-center">
      {examples_url !== null && <DeployExample examples_url={examples_url} isMain />}
      <Link
        to={pathTo(workspace, "/deployments/new")}
        className={`btn ${examples_url === null ? "pri" : ""}`}
      >
        <Icon name="plus" /> New deployment
      </Link>
    </div>
  );
}
