import type { Deployment, DeploymentsList } from "../../control-plane/deployments/schema.ts";
import { useApiQuery } from "../api/hooks.ts";
import { isNotFound } from "../api/not-found.ts";
import { apiPath } from "../api/path.ts";
import { isId } from "../state/search.ts";

/** Deployments of one page of the API, which lists the oldest first. */
export const MAX_LISTED = 100;

type ServingDeployment = {
  isPending: boolean;
  error: Error | null;
  retry: () => void;
  chosen: Deployment | null;
};

/** Returns the deployments that serve, among the oldest 100 and the one of the address. */
export function useServingDeployments(wanted: string | undefined) {
  const { data, isPending, error, refetch } = useApiQuery<DeploymentsList>(
    apiPath`/v2/deployments`,
    { query: { limit: MAX_LISTED } },
  );
  const listed = data?.resources ?? [];
  const isListed = listed.some(({ id }) => id === wanted);
  const isUnlisted = data !== undefined && !isListed && wanted !== undefined && isId(wanted);
  const unlisted = useApiQuery<Deployment>(isUnlisted ? apiPath`/v2/deployments/${wanted}` : null);
  const all = unlisted.data ? [...listed, unlisted.data] : listed;
  return {
    isPending: isPending || unlisted.isLoading,
    error: error ?? (isNotFound(unlisted.error) ? null : unlisted.error),
    retry: () => {
      void refetch();
      if (isUnlisted) void unlisted.refetch();
    },
    isCut: listed.length === MAX_LISTED,
    serving: all.filter(({ active_revision_id }) => active_revision_id),
  };
}

/**
 * Returns the deployment of the address: by id, or by name among the oldest 100. Without one in the address, returns the
 * first one that serves.
 */
export function useServingDeployment(wanted: string | undefined): ServingDeployment {
  const { serving, isPending, error, retry } = useServingDeployments(wanted);
  const named = serving.find(({ id, name }) => id === wanted || name === wanted);
  const chosen = named ?? (wanted ? null : (serving[0] ?? null));
  return { isPending, error, retry, chosen };
}
