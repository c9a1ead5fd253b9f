import type { UseQueryResult } from "@tanstack/react-query";
import type { z } from "zod";
import type {
  Assistant,
  GraphSchemas,
} from "../../../agent-server/threads/api/assistants/assistant-schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { agentPath } from "../../runs/stream/agent.ts";
import { isId } from "../../state/search.ts";

const MAX_LISTED = 100;

export type AssistantSchemas = z.infer<typeof GraphSchemas>;

export type Target = {
  /** Id of the deployment. */
  deployment: string;
  /** `{deployment}`, or `{deployment}@{revision}`. */
  ref: string;
  assistants: UseQueryResult<Assistant[]>;
  /** The read of the assistant of the URL, when the list does not have it. */
  unlisted: UseQueryResult<Assistant>;
  assistant: Assistant | undefined;
};

/**
 * Returns the assistant that the URL names by its id or its graph, `undefined` for an unknown one. Without a name in
 * the URL, returns the oldest assistant that the system created, otherwise the oldest one.
 */
export function useTarget(
  deployment: string,
  revision: string | undefined,
  name: string | undefined,
): Target {
  const ref = revision ? `${deployment}@${revision}` : deployment;
  const assistants = useApiQuery<Assistant[]>(agentPath(ref)`/assistants/search`, {
    post: { limit: MAX_LISTED, sort_by: "created_at", sort_order: "asc" },
  });
  const listed = assistants.data ?? [];
  const named = listed.find(({ assistant_id, graph_id }) =>
    [assistant_id, graph_id].includes(name ?? ""),
  );
  const isUnlisted = assistants.isSuccess && name !== undefined && !named && isId(name);
  const unlisted = useApiQuery<Assistant>(isUnlisted ? agentPath(ref)`/assistants/${name}` : null);
  const oldest = listed.find(({ metadata }) => metadata.created_by === "system") ?? listed[0];
  const assistant = name ? (named ?? unlisted.data) : oldest;
  return { deployment, ref, assistants, unlisted, assistant };
}

export function useSchemas(ref: string, assistant_id: string) {
  return useApiQuery<AssistantSchemas>(agentPath(ref)`/assistants/${assistant_id}/schemas`);
}
