import { getRouteApi } from "@tanstack/react-router";
import type { Assistant } from "../../../agent-server/threads/api/assistants/assistant-schema.ts";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { nameOf } from "../../deployments/revision-name.ts";
import { useRevisions } from "../../deployments/use-revisions.ts";
import { DeploymentSelect } from "../../runs/deployment-select.tsx";
import { Icon } from "../../ui/icon.tsx";
import type { PlaygroundSearch } from "./search.ts";
import type { Target } from "./use-target.ts";

const route = getRouteApi("/w/$workspace/playground");

type Props = { target: Target; assistant: Assistant; all: Assistant[]; onNew: () => void };

/** Chooses the agent: deployment, revision and assistant. Another choice begins a new thread. */
export function PlaygroundBar({ target, assistant, all, onNew }: Props) {
  const navigate = route.useNavigate();
  const change = (search: Partial<PlaygroundSearch>) => {
    onNew();
    void navigate({ search: (former) => ({ ...former, thread: undefined, ...search }) });
  };
  return (
    <div className="pgb">
      <DeploymentSelect
        chosen={target.deployment}
        onChange={(deployment) => change({ deployment, revision: undefined, assistant: undefined })}
      />
      <RevisionSelect
        deployment={target.deployment}
        onChange={(revision) => change({ revision, assistant: undefined })}
      />
      <select
        className="in auto max-w-60"
        aria-label="Assistant"
        value={assistant.assistant_id}
        onChange={(event) => change({ assistant: event.target.value })}
      >
        {all.map(({ assistant_id, name, graph_id }) => (
          <option key={assistant_id} value={assistant_id}>
            {name === graph_id ? name : `${name} (${graph_id})`}
          </option>
        ))}
      </select>
      <button type="button" className="btn sm push" onClick={() => change({})}>
        <Icon name="plus" small /> New thread
      </button>
    </div>
  );
}

type RevisionProps = { deployment: string; onChange: (revision: string | undefined) => void };

function RevisionSelect({ deployment, onChange }: RevisionProps) {
  const { revision = "" } = route.useSearch();
  const { data: found } = useApiQuery<Deployment>(apiPath`/v2/deployments/${deployment}`);
  const isSplit = (found?.traffic.length ?? 0) > 1;
  const active = isSplit ? null : found?.active_revision;
  const { data } = useRevisions(deployment);
  const built = data?.resources.filter(({ status }) => status === "DEPLOYED") ?? [];
  return (
    <select
      className="in auto max-w-60"
      aria-label="Revision"
      value={revision}
      onChange={(event) => onChange(event.target.value || undefined)}
    >
      <option value="">{active ? `${nameOf(active)}, which serves` : "Serving revision"}</option>
      {built.map((each) => (
        <option key={each.id} value={each.id}>
          {nameOf(each)}
          {each.is_preview ? ", preview" : ""}
        </option>
      ))}
    </select>
  );
}
