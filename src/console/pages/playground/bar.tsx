import { getRouteApi } from "@tanstack/react-router";
import type { Assistant } from "../../../agent-server/threads/api/assistants/assistant-schema.ts";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { nameOf } from "../../deployments/revision-name.ts";
import { useRevisions } from "../../deployments/use-revisions.ts";
import { DeploymentSelect } from "../../runs/deployment-select.tsx";
import { shortId } from "../../ui/formats.ts";
import { Icon } from "../../ui/icon.tsx";
import type { PlaygroundSearch } from "./search.ts";
import type { Target } from "./use-target.ts";

const route = getRouteApi("/w/$workspace/playground");

type Props = { target: Target; assistant: Assistant; assistants: Assistant[]; onNew: () => void };

/** Chooses the agent: deployment, revision and assistant. Another choice begins a new thread. */
export function PlaygroundBar({ target, assistant, assistants, onNew }: Props) {
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
        {assistants.map(({ assistant_id, name, graph_id }) => (
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
  const { data: details } = useApiQuery<Deployment>(apiPath`/v2/deployments/${deployment}`);
  const isSplit = (details?.traffic.length ?? 0) > 1;
  // With a traffic split no single revision serves.
  const onlyServing = isSplit ? null : details?.active_revision;
  const { data } = useRevisions(deployment);
  const listed =
    data?.resources.filter(({ id, status }) => status === "DEPLOYED" || id === revision) ?? [];
  const isListed = revision === "" || listed.some(({ id }) => id === revision);
  return (
    <select
      className="in auto max-w-60"
      aria-label="Revision"
      value={revision}
      onChange={(event) => onChange(event.target.value || undefined)}
    >
      <option value="">
        {onlyServing ? `${nameOf(onlyServing)}, which serves` : "Serving revision"}
      </option>
      {!isListed && <option value={revision}>{shortId(revision)}</option>}
      {listed.map((each) => (
        <option key={each.id} value={each.id}>
          {nameOf(each)}
          {each.is_preview ? ", preview" : ""}
        </option>
      ))}
    </select>
  );
}
