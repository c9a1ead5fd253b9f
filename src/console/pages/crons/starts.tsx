import type { UseQueryResult } from "@tanstack/react-query";
import type { FoundCron } from "../../../agent-server/crons/schema.ts";
import type { Assistant } from "../../../agent-server/threads/api/assistants/assistant-schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { agentPath } from "../../runs/stream/agent.ts";
import { toJson } from "../../ui/conversation/fields.ts";
import { cutText, shortId } from "../../ui/formats.ts";

export const ASSISTANTS_SHOWN = 100;
const MAX_INPUT = 200;

export function useAssistants(deployment: string): UseQueryResult<Assistant[]> {
  return useApiQuery<Assistant[]>(agentPath(deployment)`/assistants/search`, {
    post: { limit: ASSISTANTS_SHOWN, sort_by: "name", sort_order: "asc" },
  });
}

/** Shows the assistant that a cron runs, and the beginning of its input. */
export function Starts({ cron, deployment }: { cron: FoundCron; deployment: string }) {
  const { assistant_id, payload } = cron;
  const { data: assistants } = useAssistants(deployment);
  const assistant = assistants?.find((each) => each.assistant_id === assistant_id);
  const input = toJson(payload?.input ?? null);
  return (
    <span className="grid min-w-0">
      <bdi className="cut">{assistant?.name ?? nameless(assistant_id)}</bdi>
      <bdi className="dim sm mono cut max-w-80" title={input}>
        {cutText(input, MAX_INPUT)}
      </bdi>
    </span>
  );
}

function nameless(assistant_id: string | null | undefined): string {
  return assistant_id ? `assistant ${shortId(assistant_id)}` : "assistant was deleted";
}
