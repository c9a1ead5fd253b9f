import type { ActiveRevision } from "../../../../control-plane/deployments/api/service.ts";
import type { Context } from "../../../../shared/context.ts";
import { AppError } from "../../../../shared/errors.ts";
import { newId } from "../../../../shared/storage/ids.ts";
import { openAgent } from "../../../access/service.ts";
import { endAssistantCrons } from "../../callbacks.ts";
import { pickFields } from "../fields.ts";
import { toPage } from "../page.ts";
import { metadataToStore } from "../threads/service.ts";
import {
  type AssistantRef,
  assertMayDeleteAllThreads,
  authorizeAssistants,
  openAssistant,
} from "./assistant-access.ts";
import { purgeThreads } from "./assistant-purge.ts";
import { beginPurge, deleteRows, findAssistantRow, insertAssistant } from "./assistant-rows.ts";
import {
  Assistant,
  type AssistantCount,
  type AssistantCreate,
  type AssistantSearch,
} from "./assistant-schema.ts";
import { countRows, searchRows } from "./assistant-search.ts";
import { forgetAssistant } from "./run-assistants.ts";
import {
  ensureSystemAssistants,
  isSystemId,
  systemRow,
  toAssistant,
  toRow,
} from "./system-assistants.ts";

export async function createAssistant(
  ctx: Context,
  deployment_id: string,
  input: AssistantCreate,
): Promise<Assistant> {
  const agent = await openAgent(ctx, deployment_id, "write");
  const fields = {
    assistant_id: input.assistant_id ?? newId(),
    graph_id: input.graph_id,
    name: input.name ?? "Untitled",
    description: input.description ?? null,
    config: input.config ?? {},
    context: input.context ?? {},
    metadata: input.metadata ?? {},
  };
  const { if_exists } = input;
  const { value, filters } = await authorizeAssistants(ctx, "create", { ...fields, if_exists });
  assertGraph(agent, input.graph_id);
  const row = toRow(agent, { ...fields, metadata: metadataToStore(value), is_system: false });
  if (isSystemId(agent, row.assistant_id)) await ensureSystemAssistants(ctx, agent);
  if (await insertAssistant(ctx, row)) return Assistant.parse(row);
  const existing =
    if_exists === "do_nothing"
      ? await findAssistantRow(ctx, agent, row.assistant_id, filters)
      : null;
  if (existing) return toAssistant(agent, existing);
  throw new AppError("conflict", "Assistant already exists");
}

export async function getAssistant(ctx: Context, ref: AssistantRef): Promise<Assistant> {
  const agent = await openAgent(ctx, ref.deployment_id, "read");
  const { row } = await openAssistant(ctx, agent, ref, "read", {});
  return toAssistant(agent, row);
}

export async function searchAssistants(
  ctx: Context,
  deployment_id: string,
  query: AssistantSearch,
) {
  const agent = await openAgent(ctx, deployment_id, "read");
  const { filters } = await authorizeAssistants(ctx, "search", { ...query });
  await ensureSystemAssistants(ctx, agent);
  const { rows, headers } = toPage(await searchRows(ctx, agent, query, filters), query);
  return { rows: rows.map((row) => pickFields(toAssistant(agent, row), query.select)), headers };
}

export async function countAssistants(ctx: Context, deployment_id: string, query: AssistantCount) {
  const agent = await openAgent(ctx, deployment_id, "read");
  const { filters } = await authorizeAssistants(ctx, "search", { ...query });
  await ensureSystemAssistants(ctx, agent);
  return countRows(ctx, agent, query, filters);
}

/** Deletes an assistant, or resets a system assistant to its defaults. A purge deletes the threads in steps. */
export async function deleteAssistant(
  ctx: Context,
  ref: AssistantRef,
  { delete_threads }: { delete_threads: boolean },
): Promise<void> {
  const agent = await openAgent(ctx, ref.deployment_id, "write");
  const { row } = await openAssistant(ctx, agent, ref, "delete", {});
  if (delete_threads) await assertMayDeleteAllThreads(ctx);
  // Deletes the crons first: a retry after a crash still finds the assistant. System assistants keep their crons.
  if (!row.is_system) {
    await endAssistantCrons(row.deployment_id, row.assistant_id);
  }
  const at = new Date().toISOString();
  if (!delete_threads || row.is_system) {
    await deleteRows(ctx.db, row, row.is_system ? systemRow(agent, row.graph_id) : null);
  }
  if (delete_threads) {
    await beginPurge(ctx, row, at);
    const purged = row.is_system
      ? { ...row, purge_at: at }
      : { ...row, purge_at: at, deleted_at: at };
    await purgeThreads(ctx.env, purged);
  }
  forgetAssistant(row);
}

export function assertGraph({ graphs }: ActiveRevision, graph_id: string) {
  if (graphs.includes(graph_id)) return;
  throw new AppError(
    "not_found",
    `Graph "${graph_id}" not found. This deployment has: ${graphs.join(", ") || "none"}.`,
  );
}
