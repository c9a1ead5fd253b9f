import type { Context } from "../../shared/context.ts";
import { AppError, invalid } from "../../shared/errors.ts";
import { newId } from "../../shared/storage/ids.ts";
import { authorize, openAgent } from "../access/service.ts";
import { findRunAssistant, toPrincipal } from "../threads/api/runs/build-run.ts";
import { getThread, metadataToStore } from "../threads/api/threads/service.ts";
import { toAssistantId } from "../threads/contract/assistant-ids.ts";
import { assertWebhook } from "../webhooks/service.ts";
import { selected, toChange, toCron, toFilter, withoutNulls } from "./cron-fields.ts";
import { MAX_CRONS, MAX_DATABASE_BYTES, MAX_PAYLOAD_CHARACTERS } from "./limits.ts";
import type { CronRefusal } from "./records.ts";
import type { Cron, CronCount, CronCreate, CronPatch, CronSearch, FoundCron } from "./schema.ts";
import { cronObject, cronsWithFilters } from "./stub.ts";

type Target = { deployment_id: string; thread_id?: string; origin: string };
export type CronId = { deployment_id: string; cron_id: string };

/** Creates a cron. Without a thread, each firing creates a thread. */
export async function createCron(ctx: Context, target: Target, input: CronCreate): Promise<Cron> {
  const agent = await openAgent(ctx, target.deployment_id, "write");
  const { deployment_id } = agent;
  assertWebhook(ctx.env, input.webhook, agent.config);
  const { thread_id = null } = target;
  const { schedule, timezone, end_time, enabled, on_run_completed, ...rest } = input;
  const { assistant_id: ref, metadata: _, ...payload } = rest;
  const cron_id = newId();
  const user_id = userOf(ctx);
  const named = { cron_id, thread_id, user_id, assistant_id: toAssistantId(agent.graphs, ref) };
  // Handlers of the agent read the options of the runs in `payload`.
  const fields = { ...named, schedule, end_time, payload, metadata: input.metadata ?? {} };
  const { value } = await allow(ctx, "create", fields);
  const metadata = metadataToStore(value);
  if (thread_id !== null) await getThread(ctx, deployment_id, thread_id);
  const { assistant_id } = await findRunAssistant(ctx, agent, ref);
  const now = Date.now();
  const result = await cronObject(ctx.env, deployment_id).createCron({
    cron_id,
    deployment_id,
    assistant_id,
    thread_id,
    schedule,
    timezone: timezone ?? null,
    end_at: end_time ? Date.parse(end_time) : null,
    enabled: enabled ?? true,
    on_run_completed: thread_id === null ? (on_run_completed ?? "delete") : "keep",
    payload: withoutNulls(payload),
    metadata,
    principal: toPrincipal(ctx, target.origin),
    user_id,
    created_at: now,
    updated_at: now,
  });
  if (result.ok) return toCron(result.cron);
  throw refused(result.refusal);
}

export async function getCron(ctx: Context, { deployment_id, cron_id }: CronId): Promise<Cron> {
  const { object } = await openCrons(ctx, deployment_id, "read", { cron_id });
  return toCron((await object.getCron(cron_id)) ?? cronNotFound(cron_id));
}

export async function updateCron(
  ctx: Context,
  { deployment_id, cron_id, origin }: CronId & { origin: string },
  given: CronPatch,
): Promise<Cron> {
  // Handlers of the agent read the options of the runs in `payload`.
  const fields = { cron_id, ...given, payload: given, metadata: given.metadata ?? {} };
  const { object, value, agent } = await openCrons(ctx, deployment_id, "update", fields);
  assertWebhook(ctx.env, given.webhook, agent.config);
  const patch =
    given.metadata === undefined ? given : { ...given, metadata: metadataToStore(value) };
  // Replaces the principal, so that the caller does not act with the rights and OAuth tokens of the previous one.
  const principal = { principal: toPrincipal(ctx, origin), user_id: userOf(ctx) };
  const change = { ...toChange(patch), ...principal };
  const kept = (await object.updateCron(cron_id, change)) ?? cronNotFound(cron_id);
  if (kept.ok) return toCron(kept.cron);
  throw refused(kept.refusal);
}

export async function deleteCron(ctx: Context, { deployment_id, cron_id }: CronId): Promise<void> {
  const { object } = await openCrons(ctx, deployment_id, "delete", { cron_id });
  if (!(await object.deleteCron(cron_id))) cronNotFound(cron_id);
}

export async function searchCrons(
  ctx: Context,
  deployment_id: string,
  query: CronSearch,
): Promise<FoundCron[]> {
  const { limit, offset, select } = query;
  const agent = await openAgent(ctx, deployment_id, "read");
  const { filters } = await allow(ctx, "search", { ...query });
  const found = await cronObject(ctx.env, agent.deployment_id).searchCrons({
    ...toFilter(agent.graphs, query),
    filters,
    sort_by: query.sort_by ?? "created_at",
    sort_order: query.sort_order ?? "desc",
    limit,
    offset,
  });
  if (found === null) {
    throw new AppError(
      "too_large",
      "limit: the crons exceed the size of a response; use a smaller limit.",
    );
  }
  const now = new Date().toISOString();
  return found.map((row) => selected({ ...toCron(row), now }, select ?? null));
}

export async function countCrons(
  ctx: Context,
  deployment_id: string,
  filter: CronCount,
): Promise<number> {
  const agent = await openAgent(ctx, deployment_id, "read");
  const { filters } = await allow(ctx, "search", { ...filter });
  const query = { ...toFilter(agent.graphs, filter), filters };
  return cronObject(ctx.env, agent.deployment_id).countCrons(query);
}

/** @returns whether none remain, as each step of a deployment's deletion does */
export async function deleteCronsOf(env: Env, deployment_id: string): Promise<boolean> {
  await cronObject(env, deployment_id).clear();
  return true;
}

type Action = "create" | "read" | "update" | "delete" | "search";

function allow<V extends object>(ctx: Context, action: Action, value: V) {
  return authorize(ctx, { resource: "crons", action, value });
}

/** Authorizes an action and returns calls with the authorization filters. */
export async function openCrons<V extends { cron_id: string }>(
  ctx: Context,
  deployment_id: string,
  action: Action,
  fields: V,
) {
  const agent = await openAgent(ctx, deployment_id, action === "read" ? "read" : "write");
  const { value, filters } = await allow(ctx, action, fields);
  return { object: cronsWithFilters(ctx.env, agent.deployment_id, filters), value, agent };
}

function userOf({ caller: { actor } }: Context): string | null {
  if (actor.type === "agent_user") return actor.identity;
  return actor.type === "system" ? null : actor.user_id;
}

function cronNotFound(cron_id: string): never {
  throw new AppError("not_found", `Cron with ID ${cron_id} not found`);
}

function refused(refusal: CronRefusal): AppError {
  if (refusal === "full") {
    const size = `${MAX_DATABASE_BYTES / 2 ** 20} MiB`;
    const text = `The deployment has ${MAX_CRONS} crons, or ${size} of them, which is the limit: delete one first.`;
    return new AppError("conflict", text);
  }
  if (refusal === "too_large") {
    const text = `the input, options and metadata of the runs have more than ${MAX_PAYLOAD_CHARACTERS} characters of JSON`;
    return invalid(["body"], text);
  }
  return invalid(["body", refusal.field], refusal.text);
}
