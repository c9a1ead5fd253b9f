import type { ActiveRevision } from "../../../../control-plane/deployments/api/service.ts";
import { RecordCache } from "../../../../shared/changes/record-cache.ts";
import type { Context } from "../../../../shared/context.ts";
import { AppError } from "../../../../shared/errors.ts";
import {
  defaultsOf,
  isUuid,
  type RunAssistant,
  systemAssistant,
  systemAssistantId,
  toAssistantId,
} from "../../contract/assistant-ids.ts";
import { findAssistantRow } from "./assistant-rows.ts";
import type { Assistant } from "./assistant-schema.ts";
import { toAssistant } from "./system-assistants.ts";

type DeploymentAssistant = { deployment_id: string; assistant: RunAssistant };

const assistants = new RecordCache<DeploymentAssistant>({
  // For this long after a change, and a second more, another isolate may start runs with the earlier version.
  max_age_ms: 1000,
  max_outage_ms: 10 * 60 * 1000,
  scopeOf: ({ deployment_id }) => deployment_id,
  sizeOf: ({ assistant }) => JSON.stringify(assistant).length,
});

/** Resolves an assistant by its id or the name of its graph. @throws AppError `not_found` */
export async function resolveAssistant(
  ctx: Context,
  agent: ActiveRevision,
  ref: string,
): Promise<RunAssistant> {
  const assistant_id = toAssistantId(agent.graphs, ref);
  const { deployment_id, revision_id } = agent;
  const { assistant } = await assistants.get(
    ctx.env,
    `${revision_id}/${assistant_id}`,
    async () => ({
      deployment_id,
      assistant: await readRunAssistant(ctx, agent, assistant_id, ref),
    }),
  );
  return assistant;
}

async function readRunAssistant(
  ctx: Context,
  agent: ActiveRevision,
  assistant_id: string,
  ref: string,
): Promise<RunAssistant> {
  const row = isUuid(assistant_id) ? await findAssistantRow(ctx, agent, assistant_id) : null;
  if (row && agent.graphs.includes(row.graph_id)) return toRunAssistant(toAssistant(agent, row));
  const graph_id = agent.graphs.find((id) => systemAssistantId(id) === assistant_id);
  if (!row && graph_id !== undefined) return systemAssistant(graph_id, defaultsOf(agent, graph_id));
  throw assistantNotFound(
    agent,
    ref,
    row ? ` Its graph "${row.graph_id}" is not in this revision.` : "",
  );
}

export function assistantNotFound({ graphs }: ActiveRevision, ref: string, why = ""): AppError {
  return new AppError(
    "not_found",
    `No assistant found for "${ref}". Make sure the assistant ID is for a valid assistant ` +
      `or a valid graph ID.${why} This deployment has: ${graphs.join(", ") || "none"}.`,
  );
}

/** Evicts the cached assistant in this isolate, after a change. */
export function forgetAssistant({ assistant_id }: Pick<RunAssistant, "assistant_id">) {
  assistants.forget((key) => key.endsWith(`/${assistant_id}`));
}

function toRunAssistant(assistant: Assistant): RunAssistant {
  const { assistant_id, graph_id, config, context, metadata } = assistant;
  return { assistant_id, graph_id, config, context, metadata };
}
