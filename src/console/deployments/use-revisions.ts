import type { UseQueryResult } from "@tanstack/react-query";
import type { RevisionsList } from "../../control-plane/deployments/revision-schema.ts";
import { useApiQuery } from "../api/hooks.ts";
import { apiPath } from "../api/path.ts";
import { showStatus } from "./revision-status.ts";

const BUILDING_POLL_MS = 2000;
const POLL_MS = 10_000;

/**
 * Reads the newest 100 revisions of a deployment, previews included. Pages share the cache entry, so that they agree.
 */
export function useRevisions(deployment_id: string): UseQueryResult<RevisionsList> {
  return useApiQuery<RevisionsList>(apiPath`/v2/deployments/${deployment_id}/revisions`, {
    query: { limit: 100, include_previews: true },
    poll: (list) =>
      list?.resources.some(({ status }) => showStatus(status).isBuilding)
        ? BUILDING_POLL_MS
        : POLL_MS,
  });
}
