import { Link, useNavigate } from "@tanstack/react-router";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiChange, useWorkspaceId } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { useMay, useMe } from "../../api/session.ts";
import { CommandLine } from "../../deployments/command-line.tsx";
import { pathTo } from "../../state/path.ts";
import { Icon } from "../../ui/icon.tsx";
import { Empty, Panel } from "../../ui/panel.tsx";
import { ErrorState } from "../../ui/states.tsx";

const EXAMPLE = "chat";

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
          {mayWrite &&
            examples_url !== null &&
            " The example has two tools, one of which waits for an approval, and needs no model."}
        </Empty>
      </Panel>
      {mayWrite && <CommandLine />}
    </div>
  );
}

function Ways({ examples_url }: { examples_url: string | null }) {
  const workspace = useWorkspaceId();
  const navigate = useNavigate();
  const create = useApiChange<string, Deployment>({
    path: apiPath`/v2/deployments`,
    body: exampleAt,
    invalidates: ["/v2/deployments"],
  });
  const deploy = (url: string) =>
    create.mutate(url, {
      onSuccess: ({ id }) => void navigate({ to: pathTo(workspace, `/deployments/${id}`) }),
    });
  return (
    <>
      <div className="row wrap justify-center">
        {examples_url !== null && (
          <button
            type="button"
            className="btn pri"
            disabled={create.isPending}
            onClick={() => deploy(examples_url)}
          >
            <Icon name="play" /> {create.isPending ? "Creating" : "Deploy the example"}
          </button>
        )}
        <Link
          to={pathTo(workspace, "/deployments/new")}
          className={`btn ${examples_url === null ? "pri" : ""}`}
        >
          <Icon name="plus" /> New deployment
        </Link>
      </div>
      {create.error && <ErrorState what="The example was not deployed" error={create.error} />}
    </>
  );
}

function exampleAt(examples_url: string) {
  return {
    name: EXAMPLE,
    source: "github",
    source_config: {
      repo_url: `${examples_url}/${EXAMPLE}.git`,
      deployment_type: "dev",
      build_on_push: false,
    },
    source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" },
    secrets: [],
  };
}
