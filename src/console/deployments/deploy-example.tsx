import { useNavigate } from "@tanstack/react-router";
import type { Deployment } from "../../control-plane/deployments/schema.ts";
import { useApiChange, useWorkspaceId } from "../api/hooks.ts";
import { apiPath } from "../api/path.ts";
import { pathTo } from "../state/path.ts";
import { Icon } from "../ui/icon.tsx";
import { ErrorState } from "../ui/states.tsx";

const EXAMPLE = "chat";

export const EXAMPLE_NOTE =
  "The example has two tools, one of which waits for an approval, and needs no model.";

/** A button that deploys the example, and opens its deployment. */
export function DeployExample({ examples_url, isMain }: { examples_url: string; isMain: boolean }) {
  const workspace = useWorkspaceId();
  const navigate = useNavigate();
  const create = useApiChange<void, Deployment>({
    path: apiPath`/v2/deployments`,
    body: () => exampleAt(examples_url),
    invalidates: ["/v2/deployments"],
  });
  const deploy = () =>
    create.mutate(undefined, {
      onSuccess: ({ id }) => void navigate({ to: pathTo(workspace, `/deployments/${id}`) }),
    });
  return (
    <>
      <button
        type="button"
        className={`btn ${isMain ? "pri" : ""}`}
        disabled={create.isPending}
        onClick={deploy}
      >
        <Icon name="play" /> {create.isPending ? "Creating" : "Deploy the example"}
      </button>
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
