import type { ActiveRevision } from "../../../control-plane/deployments/api/service.ts";
import { parseAnswer } from "../../../control-plane/deployments/isolate/agent-answers.ts";
import type { Context } from "../../../shared/context.ts";
import { allows, type Filters } from "../../../shared/filters.ts";
import { authorize, metadataOf } from "../../access/service.ts";
import { noAssistant, resolveAssistant } from "../assistants/run-assistants.ts";
import { isSystemId } from "../assistants/system-assistants.ts";
import { toAssistantId } from "../assistants.ts";
import { RunConfig } from "../schema.ts";
import { keepable } from "../service/service.ts";
import type { RunCreate } from "./run-schema.ts";

type Order = { thread_id: string | null; run_id: string; input: RunCreate };
type Allowed = {
  input: RunCreate;
  /** Of the threads that the run may be on. */
  filters: Filters | null;
  /** Of the thread, should it be made with the run. */
  thread_metadata: Record<string, unknown>;
};

/** What the agent's handlers make of a run that somebody asks for. */
export async function allowRun(
  ctx: Context,
  agent: ActiveRevision,
  order: Order,
): Promise<Allowed> {
  const { input, thread_id } = order;
  if (!ctx.access?.user) return { input, filters: null, thread_metadata: input.metadata ?? {} };
  const { value, filters } = await authorize(ctx, {
    resource: "threads",
    action: "create_run",
    value: toValue(agent, order),
  });
  const metadata = keepable(value);
  const sent = value.kwargs?.config ?? undefined;
  const config = parseAnswer("authorize: kwargs.config", RunConfig.optional(), sent);
  const made = thread_id !== null && input.if_not_exists === "create";
  const own = made ? await allowThread(ctx, thread_id, metadata) : {};
  return {
    input: { ...input, metadata, config },
    filters,
    thread_metadata: { ...metadata, ...own },
  };
}

/** The assistant of a run. What each graph has from the start is there for all who may start runs. */
export async function findRunAssistant(ctx: Context, agent: ActiveRevision, ref: string) {
  const assistant_id = toAssistantId(agent.graphs, ref);
  if (!ctx.access?.user || isSystemId(agent, assistant_id)) {
    return resolveAssistant(ctx, agent, ref);
  }
  const asked = { resource: "assistants", action: "read", value: { assistant_id } } as const;
  const { filters } = await authorize(ctx, asked);
  const assistant = await resolveAssistant(ctx, agent, ref);
  if (allows(filters, assistant.metadata)) return assistant;
  throw noAssistant(agent, ref);
}

function toValue(agent: ActiveRevision, { thread_id, run_id, input }: Order) {
  const { metadata, multitask_strategy, if_not_exists, after_seconds, assistant_id } = input;
  const { input: value, command, config, context, stream_mode, webhook } = input;
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
    kwargs: { input: value, command, config: config ?? {}, context, stream_mode, webhook },
  };
}

/** A run that makes its thread makes one like any other. */
async function allowThread(ctx: Context, thread_id: string, metadata: Record<string, unknown>) {
  const asked = { thread_id, metadata, if_exists: "do_nothing" };
  const { value } = await authorize(ctx, { resource: "threads", action: "create", value: asked });
  return metadataOf(value);
}
