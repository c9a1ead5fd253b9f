import type { Deployment, DeploymentsList } from "../../control-plane/deployments/schema.ts";
import { useApiQuery } from "../api/hooks.ts";
import { apiPath } from "../api/path.ts";

const SHOWN = 100;

type Serving = { isPending: boolean; error: Error | null; chosen: Deployment | null };

/** The deployment of the address by id or name, else the first one that serves. */
export function useServing(wanted: string | undefined): Serving {
  const { data, isPending, error } = useApiQuery<DeploymentsList>(apiPath`/v2/deployments`, {
    query: { limit: SHOWN },
  });
  const serving = (data?.resources ?? []).filter(({ active_revision_id }) => active_revision_id);
  const named = serving.find(({ id, name }) => id === wanted || name === wanted);
  return { isPending, error, chosen: named ?? (wanted ? null : (serving[0] ?? null)) };
}

type Props = { chosen: string; onChange: (id: string) => void };

export function DeploymentSelect({ chosen, onChange }: Props) {
  const { data } = useApiQuery<DeploymentsList>(apiPath`/v2/deployments`, {
    query: { limit: SHOWN },
  });
  const serving = (data?.resources ?? []).filter(({ active_revision_id }) => active_revision_id);
  return (
    <select
      className="in auto max-w-60"
      aria-label="Deployment"
      value={chosen}
      onChange={(event) => onChange(event.target.value)}
    >
      {serving.map(({ id, name, display_name }) => (
        <option key={id} value={id}>
          {display_name ?? name}
        </option>
      ))}
    </select>
  );
}
