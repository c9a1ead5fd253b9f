import type { UseQueryResult } from "@tanstack/react-query";
import type { z } from "zod";
import type {
  Assistant,
  GraphSchemas,
} from "../../../agent-server/threads/api/assistants/assistant-schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { agentPath } from "../../runs/stream/agent.ts";

const SHOWN = 100;

export type AssistantSchemas = z.infer<typeof GraphSchemas>;

export type Target = {
  /** Id of the deployment. */
  deployment: string;
  /** The deployment, with the revision that was chosen. */
  ref: string;
  assistants: UseQueryResult<Assistant[]>;
  assistant: Assistant | undefined;
};

/** The assistant of the address, else the first graph's own. */
export function useTarget(
  deployment: string,
  revision: string | undefined,
  wanted: string | undefined,
): Target {
  const ref = revision ? `${deployment}@${revision}` : deployment;
  const assistants = useApiQuery<Assistant[]>(agentPath(ref)`/assistants/search`, {
    post: { limit: SHOWN, sort_by: "created_at", sort_order: "asc" },
  });
  const all = assistants.data ?? [];
  const named = all.find(({ assistant_id, graph_id }) =>
    [assistant_id, graph_id].includes(wanted ?? ""),
  );
  const own = all.find(({ metadata }) => metadata.created_by === "system");
  return { deployment, ref, assistants, assistant: wanted ? named : (own ?? all[0]) };
}

export function useSchemas(ref: string, assistant_id: string) {
  return useApiQuery<AssistantSchemas>(agentPath(ref)`/assistants/${assistant_id}/schemas`);
}
