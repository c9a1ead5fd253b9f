import type { Deployment, DeploymentsList } from "../../control-plane/deployments/schema.ts";
import { useApiQuery } from "../api/hooks.ts";
import { apiPath } from "../api/path.ts";
import { isId } from "../state/search.ts";

const SHOWN = 100;

type Serving = {
  isPending: boolean;
  error: Error | null;
  retry: () => void;
  chosen: Deployment | null;
};

/** The deployments that serve, among the newest ones and the one of the address. */
function useDeployments(wanted: string | undefined) {
  const { data, isPending, error, refetch } = useApiQuery<DeploymentsList>(
    apiPath`/v2/deployments`,
    {
      query: { limit: SHOWN },
    },
  );
  const listed = data?.resources ?? [];
  const isListed = listed.some(({ id }) => id === wanted);
  const isOlder = data !== undefined && !isListed && wanted !== undefined && isId(wanted);
  const older = useApiQuery<Deployment>(isOlder ? apiPath`/v2/deployments/${wanted}` : null);
  const all = older.data ? [...listed, older.data] : listed;
  return {
    isPending: isPending || older.isLoading,
    error,
    retry: () => void refetch(),
    isCut: listed.length === SHOWN,
    serving: all.filter(({ active_revision_id }) => active_revision_id),
  };
}

/** The deployment of the address by id or name, else the first one that serves. */
export function useServing(wanted: string | undefined): Serving {
  const { serving, isCut: _, ...read } = useDeployments(wanted);
  const named = serving.find(({ id, name }) => id === wanted || name === wanted);
  return { ...read, chosen: named ?? (wanted ? null : (serving[0] ?? null)) };
}

type Props = { chosen: string; onChange: (id: string) => void };

export function DeploymentSelect({ chosen, onChange }: Props) {
  const { serving, isCut } = useDeployments(chosen);
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
      {isCut && <option disabled>Only the first {SHOWN} are listed</option>}
    </select>
  );
}
