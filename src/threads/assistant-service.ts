import type { ActiveRevision } from "../deployments/service.ts";
import type { Context } from "../shared/context.ts";
import { AppError } from "../shared/errors.ts";
import { newId } from "../shared/ids.ts";
import { purgeThreads } from "./assistant-purge.ts";
import {
  type AssistantRow,
  countRows,
  deleteRows,
  findAssistantRow,
  findVersion,
  findVersions,
  greatestVersion,
  insertAssistant,
  insertVersion,
  markDeleted,
  searchRows,
  updateRow,
} from "./assistant-rows.ts";
import {
  Assistant,
  type AssistantCount,
  type AssistantCreate,
  type AssistantPatch,
  type AssistantSearch,
  AssistantVersion,
  type AssistantVersionsQuery,
} from "./assistant-schema.ts";
import { isUuid, toAssistantId } from "./assistants.ts";
import { isKeepable } from "./merge.ts";
import { pick, toPage } from "./page.ts";
import { forgetAssistant } from "./run-assistants.ts";
import { openAgent, tooMuchKept } from "./service.ts";
import {
  ensureSystemAssistants,
  isSystemId,
  systemRow,
  toAssistant,
  toRow,
  withDefaults,
} from "./system-assistants.ts";

/** Two who update one assistant at once both get a version; more than a few would be a loop. */
const MAX_TRIES = 5;

type Ref = { deployment_id: string; assistant_id: string };

export async function createAssistant(
  ctx: Context,
  deployment_id: string,
  input: AssistantCreate,
): Promise<Assistant> {
  const agent = await openAgent(ctx, deployment_id, "write");
  assertGraph(agent, input.graph_id);
  const row = toRow(agent, {
    assistant_id: input.assistant_id ?? newId(),
    graph_id: input.graph_id,
    name: input.name ?? "Untitled",
    description: input.description ?? null,
    config: input.config ?? {},
    context: input.context ?? {},
    metadata: input.metadata ?? {},
    is_system: false,
  });
  if (isSystemId(agent, row.assistant_id)) await ensureSystemAssistants(ctx, agent);
  if (await insertAssistant(ctx, row)) return Assistant.parse(row);
  const existing =
    input.if_exists === "do_nothing" ? await findAssistantRow(ctx, agent, row.assistant_id) : null;
  if (existing) return toAssistant(agent, existing);
  throw new AppError("conflict", "Assistant already exists");
}

export async function getAssistant(ctx: Context, ref: Ref): Promise<Assistant> {
  const agent = await openAgent(ctx, ref.deployment_id, "read");
  return toAssistant(agent, await findAssistant(ctx, agent, ref.assistant_id));
}

/** The page and its headers. */
export async function searchAssistants(
  ctx: Context,
  deployment_id: string,
  query: AssistantSearch,
) {
  const agent = await openAgent(ctx, deployment_id, "read");
  await ensureSystemAssistants(ctx, agent);
  const { rows, headers } = toPage(await searchRows(ctx, agent, query), query);
  return { rows: rows.map((row) => pick(toAssistant(agent, row), query.select)), headers };
}

export async function countAssistants(ctx: Context, deployment_id: string, query: AssistantCount) {
  const agent = await openAgent(ctx, deployment_id, "read");
  await ensureSystemAssistants(ctx, agent);
  return countRows(ctx, agent, query);
}

/** Every patch makes a version, an empty one too. */
export async function updateAssistant(
  ctx: Context,
  ref: Ref,
  patch: AssistantPatch,
): Promise<Assistant> {
  const agent = await openAgent(ctx, ref.deployment_id, "write");
  if (patch.graph_id !== undefined) assertGraph(agent, patch.graph_id);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const row = withDefaults(agent, await findAssistant(ctx, agent, ref.assistant_id));
    const version = (await greatestVersion(ctx, agent, row.assistant_id)) + 1;
    const next = { ...applyPatch(row, patch), version, updated_at: new Date().toISOString() };
    if (!isKeepable(next.metadata)) throw tooMuchKept("metadata", "assistant");
    if (await insertVersion(ctx, next)) {
      forgetAssistant(next);
      return toAssistant(agent, next);
    }
  }
  throw new AppError("conflict", "The assistant is being updated by others; try again.");
}

/** A graph's own assistant is then as its deployment has made it. */
export async function deleteAssistant(
  ctx: Context,
  ref: Ref,
  { delete_threads }: { delete_threads: boolean },
): Promise<void> {
  const agent = await openAgent(ctx, ref.deployment_id, "write");
  const row = await findAssistant(ctx, agent, ref.assistant_id);
  const at = new Date().toISOString();
  if (!delete_threads || row.is_system) {
    await deleteRows(ctx.db, row, row.is_system ? systemRow(agent, row.graph_id) : null);
  }
  if (delete_threads) {
    await markDeleted(ctx, row, at);
    const purged = row.is_system
      ? { ...row, purge_at: at }
      : { ...row, purge_at: at, deleted_at: at };
    await purgeThreads(ctx.env, purged);
  }
  forgetAssistant(row);
}

export async function listAssistantVersions(
  ctx: Context,
  ref: Ref,
  query: AssistantVersionsQuery,
): Promise<AssistantVersion[]> {
  const agent = await openAgent(ctx, ref.deployment_id, "read");
  const row = await findAssistant(ctx, agent, ref.assistant_id).catch(() => null);
  if (!row) throw new AppError("not_found", `Assistant "${ref.assistant_id}" not found.`);
  const rows = await findVersions(ctx, agent, row.assistant_id, query);
  return rows.map((version) => AssistantVersion.parse(version));
}

/** The next update still makes the version after the greatest. */
export async function setLatestVersion(
  ctx: Context,
  ref: Ref,
  version: number,
): Promise<Assistant> {
  const agent = await openAgent(ctx, ref.deployment_id, "write");
  const row = await findAssistant(ctx, agent, ref.assistant_id);
  const found = await findVersion(ctx, agent, row.assistant_id, version);
  if (!found) throw new AppError("not_found", "Assistant version not found");
  const { created_at: _, ...wanted } = found;
  const next = { ...row, ...wanted, updated_at: new Date().toISOString() };
  await updateRow(ctx, next);
  forgetAssistant(next);
  return toAssistant(agent, next);
}

// ── within ──

export async function findAssistant(
  ctx: Context,
  agent: ActiveRevision,
  ref: string,
): Promise<AssistantRow> {
  const assistant_id = toAssistantId(agent.graphs, ref);
  if (isSystemId(agent, assistant_id)) await ensureSystemAssistants(ctx, agent);
  const row = isUuid(assistant_id) ? await findAssistantRow(ctx, agent, assistant_id) : null;
  if (!row) throw new AppError("not_found", "Assistant not found");
  return row;
}

function applyPatch(row: AssistantRow, patch: AssistantPatch): AssistantRow {
  const { graph_id, name, description, config, context, metadata } = patch;
  return {
    ...row,
    graph_id: graph_id ?? row.graph_id,
    name: name ?? row.name,
    description: description ?? row.description,
    config: config ?? row.config,
    context: context ?? row.context,
    metadata: { ...row.metadata, ...metadata },
  };
}

function assertGraph({ graphs }: ActiveRevision, graph_id: string) {
  if (graphs.includes(graph_id)) return;
  throw new AppError(
    "not_found",
    `Graph "${graph_id}" not found. This deployment has: ${graphs.join(", ") || "none"}.`,
  );
}
