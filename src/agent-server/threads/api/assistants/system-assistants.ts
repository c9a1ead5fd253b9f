import type { ActiveRevision } from "../../../../control-plane/deployments/api/service.ts";
import type { Context } from "../../../../shared/context.ts";
import {
  defaultsOf,
  SYSTEM_METADATA,
  systemAssistant,
  systemAssistantId,
} from "../../contract/assistant-ids.ts";
import { type AssistantRow, insertSystemAssistants } from "./assistant-rows.ts";
import { Assistant } from "./assistant-schema.ts";

/** Number of revisions at which `ensured` is emptied. */
const MAX_ENSURED = 1000;

export function isSystemId(agent: ActiveRevision, assistant_id: string): boolean {
  return agent.graphs.some((graph_id) => systemAssistantId(graph_id) === assistant_id);
}

/** Revisions whose system assistants have rows. */
const ensured = new Set<string>();

/** Creates the missing rows of system assistants, unless this isolate has done it for the revision. */
export async function ensureSystemAssistants(ctx: Context, agent: ActiveRevision): Promise<void> {
  if (ensured.has(agent.revision_id)) return;
  await makeSystemAssistants(ctx, agent);
  if (ensured.size >= MAX_ENSURED) ensured.clear();
  ensured.add(agent.revision_id);
}

/** Creates the missing rows of system assistants. */
export async function makeSystemAssistants(ctx: Context, agent: ActiveRevision): Promise<void> {
  const rows = agent.graphs.map((graph_id) => systemRow(agent, graph_id));
  await insertSystemAssistants(ctx.db, rows);
}

export function systemRow(agent: ActiveRevision, graph_id: string): AssistantRow {
  return toRow(agent, {
    ...systemAssistant(graph_id, defaultsOf(agent, graph_id)),
    metadata: SYSTEM_METADATA,
    name: graph_id,
    description: descriptionOf(agent, graph_id),
    is_system: true,
  });
}

function descriptionOf({ descriptors }: ActiveRevision, graph_id: string): string | null {
  const described = (Array.isArray(descriptors) ? descriptors : []) as {
    graph_id: string;
    description?: string | null;
  }[];
  return described.find((graph) => graph.graph_id === graph_id)?.description ?? null;
}

type NewRow = Omit<
  AssistantRow,
  | "deployment_id"
  | "workspace_id"
  | "version"
  | "created_at"
  | "updated_at"
  | "deleted_at"
  | "purge_at"
>;

export function toRow({ deployment_id, workspace_id }: ActiveRevision, row: NewRow): AssistantRow {
  const now = new Date().toISOString();
  return {
    ...row,
    deployment_id,
    workspace_id,
    version: 1,
    created_at: now,
    updated_at: now,
    deleted_at: null,
    purge_at: null,
  };
}

/** Applies the defaults of the active revision to the first version of a system assistant. */
export function withDefaults(agent: ActiveRevision, row: AssistantRow): AssistantRow {
  if (!row.is_system || row.version !== 1) return row;
  return { ...row, ...defaultsOf(agent, row.graph_id) };
}

export function toAssistant(agent: ActiveRevision, row: AssistantRow): Assistant {
  return Assistant.parse(withDefaults(agent, row));
}
