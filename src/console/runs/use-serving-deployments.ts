import type { Deployment, DeploymentsList } from "../../control-plane/deployments/schema.ts";
import { useApiQuery } from "../api/hooks.ts";
import { isNotFound } from "../api/not-found.ts";
import { apiPath } from "../api/path.ts";
import { isId } from "../state/search.ts";

export const MAX_LISTED = 100;

type ServingDeployment = {
  isPending: boolean;
  error: Error | null;
  retry: () => void;
  chosen: Deployment | null;
};

/** Returns the deployments that serve, among the newest 100 and the one of the address. */
export function useServingDeployments(wanted: string | undefined) {
  const { data, isPending, error, refetch } = useApiQuery<DeploymentsList>(
    apiPath`/v2/deployments`,
    { query: { limit: MAX_LISTED } },
  );
  const listed = data?.resources ?? [];
  const isListed = listed.some(({ id }) => id === wanted);
  const isOlder = data !== undefined && !isListed && wanted !== undefined && isId(wanted);
  const older = useApiQuery<Deployment>(isOlder ? apiPath`/v2/deployments/${wanted}` : null);
  const all = older.data ? [...listed, older.data] : listed;
  return {
    isPending: isPending || older.isLoading,
    error: error ?? (isNotFound(older.error) ? null : older.error),
    retry: () => {
      void refetch();
      if (isOlder) void older.refetch();
    },
    isCut: listed.length === MAX_LISTED,
    serving: all.filter(({ active_revision_id }) => active_revision_id),
  };
}

/**
 * Returns the deployment of the address: by id, or by name among the newest 100. Without one in the address, returns the
 * first one that serves.
 */
export function useServingDeployment(wanted: string | undefined): ServingDeployment {
  const { serving, isPending, error, retry } = useServingDeployments(wanted);
  const named = serving.find(({ id, name }) => id === wanted || name === wanted);
  const chosen = named ?? (wanted ? null : (serving[0] ?? null));
  return { isPending, error, retry, chosen };
}
