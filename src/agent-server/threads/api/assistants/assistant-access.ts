import type { ActiveRevision } from "../../../../control-plane/deployments/api/service.ts";
import type { Context } from "../../../../shared/context.ts";
import { AppError } from "../../../../shared/errors.ts";
import type { Filters } from "../../../../shared/filters.ts";
import { type Authorization, authorize } from "../../../access/service.ts";
import { isUuid, toAssistantId } from "../../contract/assistant-ids.ts";
import { type AssistantRow, findAssistantRow } from "./assistant-rows.ts";
import { ensureSystemAssistants, isSystemId } from "./system-assistants.ts";

export type AssistantRef = { deployment_id: string; assistant_id: string };
type Action = "create" | "read" | "update" | "delete" | "search";

/** Authorizes an action on assistants by the agent's own code, which may change the value. */
export function authorizeAssistants<V extends object>(
  ctx: Context,
  action: Action,
  value: V,
): Promise<Authorization<V>> {
  return authorize(ctx, { resource: "assistants", action, value });
}

/**
 * Authorizes an action. `find` returns the assistant, and throws `not_found` when it is missing or hidden by the
 * filters.
 */
export async function authorizeAssistant<V extends object>(
  ctx: Context,
  agent: ActiveRevision,
  ref: AssistantRef,
  action: Action,
  fields: V,
) {
  const assistant_id = toAssistantId(agent.graphs, ref.assistant_id);
  const { value, filters } = await authorizeAssistants(ctx, action, { assistant_id, ...fields });
  const find = () => findAssistant(ctx, agent, assistant_id, filters);
  return { value, filters, find };
}

/** Authorizes an action and reads the assistant. @throws AppError `not_found` */
export async function openAssistant<V extends object>(
  ctx: Context,
  agent: ActiveRevision,
  ref: AssistantRef,
  action: Action,
  fields: V,
) {
  const { value, find } = await authorizeAssistant(ctx, agent, ref, action, fields);
  return { row: await find(), value };
}

/** @throws AppError `forbidden` unless the caller may delete the threads of all users */
export async function assertMayDeleteAllThreads(ctx: Context): Promise<void> {
  const request = { resource: "threads", action: "delete", value: {} } as const;
  const { filters } = await authorize(ctx, request);
  // Without filters the caller is not restricted.
  if (filters === null) return;
  const text =
    "delete_threads: the assistant may have threads of other users; delete the assistant without it, and your threads by id.";
  throw new AppError("forbidden", text);
}

/**
 * Finds an assistant. Creates missing system assistants first when the id is that of one. @throws AppError `not_found`
 */
async function findAssistant(
  ctx: Context,
  agent: ActiveRevision,
  assistant_id: string,
  filters: Filters | null,
): Promise<AssistantRow> {
  if (isSystemId(agent, assistant_id)) await ensureSystemAssistants(ctx, agent);
  const row = isUuid(assistant_id)
    ? await findAssistantRow(ctx, agent, assistant_id, filters)
    : null;
  if (!row) throw new AppError("not_found", "Assistant not found");
  return row;
}
