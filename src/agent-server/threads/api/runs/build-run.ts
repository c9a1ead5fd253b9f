import { v7 } from "uuid";
import type { ActiveRevision } from "../../../../control-plane/deployments/api/service.ts";
import { parseAnswer } from "../../../../control-plane/deployments/isolate/agent-answers.ts";
import { assertQuota, RUN_METERS } from "../../../../control-plane/quotas/quota-service.ts";
import type { Context } from "../../../../shared/context.ts";
import { allows, type Filters } from "../../../../shared/filters.ts";
import {
  authorize,
  configurableHeaders,
  httpSettings,
  metadataOf,
  openAgent,
} from "../../../access/service.ts";
import { assertWebhook } from "../../../webhooks/service.ts";
import { toAssistantId } from "../../contract/assistant-ids.ts";
import type { Principal, RunTarget } from "../../contract/records.ts";
import type { RunCreate } from "../../contract/requests/run-schema.ts";
import { RunConfig } from "../../contract/requests/schema.ts";
import { newTemporaryId } from "../../contract/shared-objects.ts";
import { threadObject } from "../../object/stub.ts";
import { assistantNotFound, resolveAssistant } from "../assistants/run-assistants.ts";
import { isSystemId } from "../assistants/system-assistants.ts";
import { metadataToStore, newThread, toRevisionRef } from "../threads/service.ts";
import { type KeyedRun, toKeyedRun } from "./idempotency.ts";
import { toRunRequest } from "./run-request.ts";

/**
 * Builds the request that the thread accepts or refuses. Resolves the serving revision and the assistant, and
 * authorizes the run by the agent's handlers, which may change its metadata and config.
 */
export async function buildRun(ctx: Context, target: RunTarget, input: RunCreate) {
  const keyed = toKeyedRun(ctx, target, input);
  const run_id = target.run_id ?? keyed?.run_ids[0] ?? newRunId(target, input);
  // The thread of a threadless run has the run's id, so that the id alone finds the run.
  const thread_id = target.thread_id ?? run_id;
  const agent = await openAgent(ctx, target.deployment_id, "write", thread_id);
  await assertRunQuota(ctx, { ...target, deployment_id: agent.deployment_id }, keyed);
  assertWebhook(ctx.env, input.webhook, agent.config);
  const ids = { thread_id: target.thread_id, run_id };
  const allowed = await authorizeRun(ctx, agent, ids, input);
  const isThreadless = target.thread_id === null;
  const temporary = isThreadless && !isKept(allowed.input);
  const creates = isThreadless || input.if_not_exists === "create";
  const thread = { ...newThread(agent, thread_id, allowed.thread_metadata), temporary };
  const request = toRunRequest(allowed.input, {
    assistant: await findRunAssistant(ctx, agent, input.assistant_id),
    revision: toRevisionRef(agent),
    created_by: toPrincipal(ctx, target.origin),
    headers: configurableHeaders(target.headers, httpSettings(agent.config)),
    run_id,
    create_thread: creates ? thread : null,
    temporary,
    protocol: target.protocol,
    answers: target.answers,
    after_run_id: target.after_run_id,
    keyed,
  });
  return { deployment_id: agent.deployment_id, thread_id, request, filters: allowed.filters };
}

function newRunId({ thread_id, deployment_id }: RunTarget, input: RunCreate): string {
  const isTemporary = thread_id === null && !isKept(input);
  return isTemporary ? newTemporaryId(deployment_id) : v7();
}

/** Refuses a new run over a quota of the workspace, but not a repeated request whose run exists. */
async function assertRunQuota(
  ctx: Context,
  { deployment_id, thread_id, run_id }: RunTarget,
  keyed: KeyedRun | null,
): Promise<void> {
  try {
    await assertQuota(ctx, RUN_METERS);
  } catch (error) {
    const known = keyed?.run_ids ?? (run_id === undefined ? [] : [run_id]);
    for (const id of known) {
      // A threadless run's thread shares its id.
      const thread = threadObject(ctx.env, deployment_id, thread_id ?? id);
      if (await thread.hasRun(id)) return;
    }
    throw error;
  }
}

function isKept({ on_completion }: RunCreate): boolean {
  return on_completion === "keep" || on_completion === "continue";
}

export function toPrincipal({ caller, access }: Context, origin: string): Principal {
  return access?.user ? { caller, origin, user: access.user } : { caller, origin };
}

type RunIds = { thread_id: string | null; run_id: string };

type AuthorizedRun = {
  input: RunCreate;
  filters: Filters | null;
  thread_metadata: Record<string, unknown>;
};

async function authorizeRun(
  ctx: Context,
  agent: ActiveRevision,
  ids: RunIds,
  input: RunCreate,
): Promise<AuthorizedRun> {
  if (!ctx.access?.user) return { input, filters: null, thread_metadata: input.metadata ?? {} };
  const { value, filters } = await authorize(ctx, {
    resource: "threads",
    action: "create_run",
    value: toValue(agent, ids, input),
  });
  const metadata = metadataToStore(value);
  const sent = value.kwargs?.config ?? undefined;
  const config = parseAnswer("authorize: kwargs.config", RunConfig.optional(), sent);
  const creates = ids.thread_id !== null && input.if_not_exists === "create";
  const added = creates ? await authorizeThread(ctx, ids.thread_id, metadata) : {};
  return {
    input: { ...input, metadata, config },
    filters,
    thread_metadata: { ...metadata, ...added },
  };
}

/** The value that handlers of `threads.create_run` receive. */
function toValue(agent: ActiveRevision, { thread_id, run_id }: RunIds, run: RunCreate) {
  const { metadata, multitask_strategy, if_not_exists, after_seconds, assistant_id } = run;
  const { input, command, config, context, stream_mode, webhook } = run;
  return {
    thread_id,
    run_id,
    assistant_id: toAssistantId(agent.graphs, assistant_id),
    status: "pending",
    metadata: metadata ?? {},
    prevent_insert_if_inflight: multitask_strategy === "reject",
    multitask_strategy,
    if_not_exists: if_not_exists ?? "reject",
    after_seconds: after_seconds ?? 0,
    kwargs: { input, command, config: config ?? {}, context, stream_mode, webhook },
  };
}

/** Authorizes the creation of the thread: a run that creates its thread needs both permissions. */
async function authorizeThread(
  ctx: Context,
  thread_id: string | null,
  metadata: Record<string, unknown>,
) {
  const value = { thread_id, metadata, if_exists: "do_nothing" };
  const verdict = await authorize(ctx, { resource: "threads", action: "create", value });
  return metadataOf(verdict.value);
}

/**
 * Finds an assistant that the caller may read. Every caller may read the system assistants of graphs.
 * @throws AppError `not_found`
 */
export async function findRunAssistant(ctx: Context, agent: ActiveRevision, ref: string) {
  const assistant_id = toAssistantId(agent.graphs, ref);
  if (!ctx.access?.user || isSystemId(agent, assistant_id)) {
    return resolveAssistant(ctx, agent, ref);
  }
  const value = { assistant_id };
  const { filters } = await authorize(ctx, { resource: "assistants", action: "read", value });
  const assistant = await resolveAssistant(ctx, agent, ref);
  if (allows(filters, assistant.metadata)) return assistant;
  throw assistantNotFound(agent, ref);
}
