import type { Context } from "../../../../shared/context.ts";
import { AppError, nullIfNotFound } from "../../../../shared/errors.ts";
import { openAgent } from "../../../access/service.ts";
import { isKeepable } from "../../contract/sizes.ts";
import { metadataToStore, valueTooLarge } from "../threads/service.ts";
import { type AssistantRef, authorizeAssistant, openAssistant } from "./assistant-access.ts";
import {
  type AssistantRow,
  findVersion,
  greatestVersion,
  insertVersion,
  updateRow,
} from "./assistant-rows.ts";
import {
  type Assistant,
  type AssistantPatch,
  AssistantVersion,
  type AssistantVersionsQuery,
} from "./assistant-schema.ts";
import { findVersions } from "./assistant-search.ts";
import { assertGraph } from "./assistant-service.ts";
import { forgetAssistant } from "./run-assistants.ts";
import { toAssistant, withDefaults } from "./system-assistants.ts";

/** Maximum attempts of an update: a concurrent update may create a version with the same number. */
const MAX_TRIES = 5;

/** Updates an assistant. Creates a version, also for an empty patch. */
export async function updateAssistant(
  ctx: Context,
  ref: AssistantRef,
  given: AssistantPatch,
): Promise<Assistant> {
  const agent = await openAgent(ctx, ref.deployment_id, "write");
  const fields = { ...given, metadata: given.metadata ?? {} };
  const { value, find } = await authorizeAssistant(ctx, agent, ref, "update", fields);
  const patch = { ...given, metadata: metadataToStore(value) };
  if (patch.graph_id !== undefined) assertGraph(agent, patch.graph_id);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const row = withDefaults(agent, await find());
    const version = (await greatestVersion(ctx, agent, row.assistant_id)) + 1;
    const next = { ...applyPatch(row, patch), version, updated_at: new Date().toISOString() };
    if (!isKeepable(next.metadata)) throw valueTooLarge("metadata", "assistant");
    if (await insertVersion(ctx, next)) {
      forgetAssistant(next);
      return toAssistant(agent, next);
    }
  }
  throw new AppError("conflict", "The assistant was updated by another request: retry.");
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

export async function listAssistantVersions(
  ctx: Context,
  ref: AssistantRef,
  query: AssistantVersionsQuery,
): Promise<AssistantVersion[]> {
  const agent = await openAgent(ctx, ref.deployment_id, "read");
  const fields = { metadata: query.metadata };
  const { find } = await authorizeAssistant(ctx, agent, ref, "read", fields);
  const row = await nullIfNotFound(find());
  if (!row) throw new AppError("not_found", `Assistant "${ref.assistant_id}" not found.`);
  const rows = await findVersions(ctx, agent, row.assistant_id, query);
  return rows.map((version) => AssistantVersion.parse(version));
}

/** Sets the version that runs use. The next update still creates the version after the greatest one. */
export async function setLatestVersion(
  ctx: Context,
  ref: AssistantRef,
  version: number,
): Promise<Assistant> {
  const agent = await openAgent(ctx, ref.deployment_id, "write");
  const fields = { version, metadata: {} };
  const { row, value } = await openAssistant(ctx, agent, ref, "update", fields);
  const found = await findVersion(ctx, agent, row.assistant_id, version);
  if (!found) throw new AppError("not_found", "Assistant version not found");
  const { created_at: _, ...wanted } = found;
  const metadata = { ...wanted.metadata, ...metadataToStore(value) };
  const next = { ...row, ...wanted, metadata, updated_at: new Date().toISOString() };
  await updateRow(ctx, next);
  forgetAssistant(next);
  return toAssistant(agent, next);
}
