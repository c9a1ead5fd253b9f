import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import type {
  Revision,
  RevisionsList,
} from "../../../../control-plane/deployments/revision-schema.ts";
import { useInvalidate, useWorkspaceId } from "../../../api/hooks.ts";
import { apiPath, under } from "../../../api/path.ts";
import { showStatus } from "../../../deployments/revision-status.ts";
import { type LogRead, useLogStream } from "./use-log-stream.ts";

/** Follows a build. Receives its lines, and writes the changed revision into the lists that this page has read. */
export function useBuildLog({ deployment_id, id }: Revision): LogRead {
  const workspace = useWorkspaceId();
  const client = useQueryClient();
  const invalidate = useInvalidate();
  const building = useRef("");
  const finished = useRef("");
  const path = apiPath`/v2/deployments/${deployment_id}/revisions`;
  return useLogStream({
    path: under(path)`/${id}/stream`,
    onEvent: ({ data }) => {
      const revision = JSON.parse(data) as Revision;
      replaceRevision(client, [workspace, path], revision);
      if (showStatus(revision.status).isBuilding) {
        building.current = id;
        return;
      }
      finished.current = id;
      if (building.current === id) void invalidate("/v2/deployments");
    },
    isOver: () => finished.current === id,
  });
}

function replaceRevision(client: QueryClient, queryKey: string[], revision: Revision): void {
  client.setQueriesData<RevisionsList>({ queryKey }, (list) => {
    if (list === undefined) return list;
    const resources = list.resources.map((each) => (each.id === revision.id ? revision : each));
    return { ...list, resources };
  });
}
