import type { ActiveRevision } from "../../control-plane/deployments/api/service.ts";
import { parseAnswer } from "../../control-plane/deployments/isolate/agent-answers.ts";
import { agentIsolate } from "../../control-plane/deployments/isolate/isolate.ts";
import type { AgentEntrypoint } from "../../isolate/contract.ts";
import type {
  EmbedCall,
  EmbeddingResult,
  StoreAnswer,
  StoredItem,
  StoreOp,
  StoreResult,
} from "../../isolate/store-contract.ts";
import type { Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import type { Filters } from "../../shared/filters.ts";
import { holdBody, NOTHING } from "../../shared/http/body.ts";
import { ROOT } from "../../shared/storage/slots.ts";
import type { Reserve } from "../../shared/work/memory-budget.ts";
import { authorize, openAgent } from "../access/service.ts";
import { embeddedAnswer, parseStoreOps } from "./boundary.ts";
import { applyOps } from "./operations.ts";
import type { DeleteItem, GetItemQuery, ListNamespaces, PutItem, SearchItems } from "./schema.ts";
import { type StoreSettings, toSettings, toTtlMs } from "./settings.ts";
import type { StoreReader } from "./slots.ts";
import { MAX_ANSWER_BYTES, SMALL_ANSWER_BYTES } from "./storage/limits.ts";
import { storeObject } from "./stub.ts";

type OpenStore = {
  ctx: Context;
  agent: ActiveRevision;
  settings: StoreSettings;
  /** Authorization filters. */
  filters: Filters | null;
};

export async function putItem(ctx: Context, deployment_id: string, input: PutItem): Promise<void> {
  const { index = null } = input;
  const { namespace, key, value: given } = { ...input, namespace: input.namespace ?? [] };
  const fields = { namespace, key, value: given, index };
  const { value: allowed, ...store } = await open(ctx, deployment_id, "put", fields);
  const value = JSON.stringify(allowed.value);
  const put = {
    op: "put",
    namespace: allowed.namespace,
    key: allowed.key,
    value,
    vectors: [] as Float32Array[],
    ttl_ms: toTtlMs(input.ttl, store.settings),
  } as const;
  if (!store.settings.is_indexed || index === false) return void (await apply(store, put));
  const { items } = await embed(ctx.env, store.agent, { items: [{ value, index }], query: null });
  await apply(store, { ...put, vectors: items[0] ?? [] });
}

/** @returns the item as JSON text, the text `null` when the item does not exist */
export async function getItem(
  ctx: Context,
  deployment_id: string,
  query: GetItemQuery,
): Promise<string> {
  const { refresh_ttl } = query;
  const fields = { namespace: toNamespace(query.namespace), key: query.key };
  const { value, ...store } = await open(ctx, deployment_id, "get", fields);
  const { namespace, key } = value;
  const refresh = refresh_ttl ?? store.settings.refresh_on_read;
  return holdBody(async (reserve) => {
    const op = { op: "get", namespace, key, refresh } as const;
    const item = await apply<StoredItem | null>(store, op, reserve);
    return item ? toJson(item) : "null";
  });
}

export async function deleteItem(ctx: Context, deployment_id: string, input: DeleteItem) {
  const fields = { namespace: input.namespace ?? [], key: input.key };
  const { value, ...store } = await open(ctx, deployment_id, "delete", fields);
  await apply(store, { op: "delete", namespace: value.namespace, key: value.key });
}

/**
 * Searches items. `query` searches by similarity when the configuration has an embedding, and is ignored otherwise.
 * @returns JSON text of `{items}`
 */
export async function searchItems(
  ctx: Context,
  deployment_id: string,
  input: SearchItems,
): Promise<string> {
  const { namespace_prefix, refresh_ttl, ...rest } = input;
  const fields = { ...rest, namespace: namespace_prefix ?? [] };
  const { value, ...store } = await open(ctx, deployment_id, "search", fields);
  const { limit, offset, filter = null, query = null } = value;
  const isVectorSearch = store.settings.is_indexed && query !== null && query !== "";
  const embedded = isVectorSearch ? await embed(ctx.env, store.agent, { items: [], query }) : null;
  const op = {
    op: "search",
    prefix: value.namespace,
    filter,
    vector: embedded?.query ?? null,
    limit,
    offset,
    refresh: refresh_ttl ?? store.settings.refresh_on_read,
  } as const;
  return holdBody(async (reserve) => {
    const items = await apply<StoredItem[]>(store, op, reserve);
    return `{"items":[${items.map(toJson).join(",")}]}`;
  });
}

export async function listNamespaces(ctx: Context, deployment_id: string, input: ListNamespaces) {
  const { prefix, ...rest } = input;
  const fields = { ...rest, namespace: prefix };
  const { value, ...store } = await open(ctx, deployment_id, "list_namespaces", fields);
  const { limit, offset, max_depth = null } = value;
  const paths = { prefix: value.namespace, suffix: value.suffix };
  const conditions = (["prefix", "suffix"] as const).flatMap((match) => {
    const path = paths[match];
    return path ? [{ match, path }] : [];
  });
  const op = { op: "namespaces", conditions, max_depth, limit, offset } as const;
  return holdBody(async (reserve) => ({
    namespaces: await apply<string[][]>(store, op, reserve),
  }));
}

/** Applies operations that the code of a deployment's agent sends. */
export async function applyToStore(
  env: Env,
  deployment_id: string,
  ops: unknown,
): Promise<StoreAnswer> {
  const parsed = parseStoreOps(ops);
  if (!parsed.ok) return parsed;
  return applyOps({ env, deployment_id, filters: null }, parsed.ops);
}

export async function deleteStoreOf(env: Env, deployment_id: string): Promise<boolean> {
  await storeObject(env, { deployment_id, slot: ROOT }).clear(false);
  return true;
}

/** Deletes all items of a deployment that remains. */
export async function emptyStoreOf(env: Env, deployment_id: string): Promise<void> {
  await storeObject(env, { deployment_id, slot: ROOT }).clear(true);
}

type Action = "put" | "get" | "delete" | "search" | "list_namespaces";

/** Authorizes an action. The agent's handlers may change the returned `value`. */
async function open<V extends object>(
  ctx: Context,
  deployment_id: string,
  action: Action,
  fields: V,
): Promise<OpenStore & { value: V }> {
  const scope = action === "put" || action === "delete" ? "write" : "read";
  const agent = await openAgent(ctx, deployment_id, scope);
  const { value, filters } = await authorize(ctx, { resource: "store", action, value: fields });
  return { ctx, agent, settings: toSettings(agent.config?.store), value, filters };
}

/** Applies one operation. `T`: type of the result of its kind. @throws AppError for a refusal */
async function apply<T extends StoreResult>(
  { ctx, agent, filters }: OpenStore,
  op: StoreOp,
  reserve = NOTHING,
): Promise<T> {
  // The agent's auth handlers may have changed the values of a user's operation to anything.
  const parsed = ctx.access?.user ? parseStoreOps([op]) : { ok: true as const, ops: [op] };
  const store = { env: ctx.env, deployment_id: agent.deployment_id, filters };
  const answer = parsed.ok ? await applyAdmitted(store, parsed.ops, reserve) : parsed;
  if (answer.ok) return answer.results[0] as T;
  throw new AppError(answer.refusal.code, answer.refusal.message);
}

/** Reads large results only once the isolate admits their bytes. */
async function applyAdmitted(
  store: StoreReader,
  ops: StoreOp[],
  reserve: Reserve,
  max_bytes = SMALL_ANSWER_BYTES,
): Promise<StoreAnswer> {
  const answer = await applyOps(store, ops, max_bytes);
  const bytes = answer.ok ? 0 : (answer.refusal.bytes ?? 0);
  if (bytes <= max_bytes || bytes > MAX_ANSWER_BYTES) return answer;
  await reserve(bytes);
  return applyAdmitted(store, ops, reserve, bytes);
}

/** Reads the labels of a namespace from `a.b.c`, or from a repeated parameter. */
function toNamespace(query: string | string[] | undefined): string[] {
  if (query === undefined || query === "") return [];
  return Array.isArray(query) ? query : query.split(".");
}

/** The stored value is JSON text already. */
function toJson({ namespace, key, value, created_at, updated_at, score }: StoredItem): string {
  const name = JSON.stringify({ namespace, key });
  const others = JSON.stringify({
    created_at: new Date(created_at).toISOString(),
    updated_at: new Date(updated_at).toISOString(),
    ...(score !== null && { score }),
  });
  return `${name.slice(0, -1)},"value":${value},${others.slice(1)}`;
}

type RevisionRef = { deployment_id: string; revision_id: string; secrets_version: number };

/** Turns texts into vectors by the agent's own embedding function, in the isolate of the revision. */
async function embed(env: Env, revision: RevisionRef, call: EmbedCall): Promise<EmbeddingResult> {
  // The loader types every entrypoint as a Fetcher; src/isolate exports this one.
  const agent = agentIsolate(env, revision) as unknown as AgentEntrypoint;
  const answer = parseAnswer("embed", embeddedAnswer(call), await agent.embed(call));
  if (answer.ok) return answer.value;
  throw new AppError("unavailable", `store.index.embed: ${answer.error.message}`);
}
