import { and, asc, count, eq, gt, isNull, type SQL, sql } from "drizzle-orm";
import type { Context, Role } from "../../../shared/context.ts";
import { AppError, invalid, notFound } from "../../../shared/errors.ts";
import { whoOf } from "../../../shared/http/rate-limit.ts";
import { newId } from "../../../shared/storage/ids.ts";
import { toMicros } from "../../../shared/times.ts";
import { assertAdmin, assertOrganizationAdmin, hasOtherAdmin, lastAdmin } from "../admins.ts";
import { forgetCallers } from "../auth.ts";
import { isActiveKey } from "../credentials.ts";
import { workspaceRoleFields, workspaceRoleOf } from "../roles.ts";
import { assertPrincipalActive } from "../service.ts";
import { api_keys, workspaces } from "../table.ts";
import {
  ApiKey,
  type ApiKeyCreateRequest,
  ApiKeyWithSecret,
  type PersonalKeyCreateRequest,
  type RotateQuery,
  type ServiceKeyCreateRequest,
} from "./key-schema.ts";
import { newApiKey } from "./keys.ts";

/** The keys that one family of operations manages: of the workspace, of the organization, of the calling user. */
export type KeyScope = "workspace" | "organization" | "personal";

type KeyRow = typeof api_keys.$inferSelect;
type NewKey = Pick<KeyRow, "kind" | "workspace_id" | "user_id" | "role" | "description"> & {
  expires_at: string | null | undefined;
};

/** Lists are answered whole. */
const MAX_KEYS = 1000;

export async function listApiKeys(ctx: Context, scope: KeyScope): Promise<ApiKey[]> {
  await assertManages(ctx, scope);
  const rows = await ctx.db
    .select()
    .from(api_keys)
    .where(and(isInScope(ctx, scope), isNull(api_keys.revoked_at)))
    .orderBy(asc(api_keys.id))
    .limit(MAX_KEYS);
  return rows.map(toApiKey);
}

export async function createApiKey(
  ctx: Context,
  request: ApiKeyCreateRequest,
): Promise<ApiKeyWithSecret> {
  await assertManages(ctx, "workspace");
  const { workspace_id } = ctx.caller;
  return insertKey(ctx, "workspace", { ...serviceKey(request), workspace_id });
}

/** Creates a key for the whole organization, or for one of its workspaces. */
export async function createServiceKey(
  ctx: Context,
  request: ServiceKeyCreateRequest,
): Promise<ApiKeyWithSecret> {
  await assertManages(ctx, "organization");
  const workspace_id = request.workspaces?.[0] ?? null;
  if (workspace_id !== null) await assertOwnWorkspace(ctx, workspace_id);
  return insertKey(ctx, "organization", { ...serviceKey(request), workspace_id });
}

export async function createPersonalKey(
  ctx: Context,
  { description, expires_at }: PersonalKeyCreateRequest,
): Promise<ApiKeyWithSecret> {
  await assertManages(ctx, "personal");
  const user_id = userOf(ctx);
  if (user_id === null) {
    const text =
      "A service key has no personal keys: use a bearer token or a personal key, or create a service key at /api/v1/api-key.";
    throw new AppError("bad_request", text);
  }
  const owner = { kind: "personal", user_id, workspace_id: null, role: null } as const;
  return insertKey(ctx, "personal", { ...owner, description, expires_at });
}

/** Rotates the secret of a key. The id stays, so its crons, runs and OAuth tokens continue. */
export async function rotateApiKey(
  ctx: Context,
  scope: KeyScope,
  id: string,
  { overlap_seconds }: RotateQuery,
): Promise<ApiKeyWithSecret> {
  await assertManages(ctx, scope);
  const kind = scope === "personal" ? "personal" : "service";
  const { api_key, sha256, prefix } = newApiKey(kind);
  const [row] = await ctx.db
    .update(api_keys)
    .set({
      sha256,
      prefix,
      previous_sha256: sql`${api_keys.sha256}`,
      previous_expires_at: new Date(Date.now() + overlap_seconds * 1000).toISOString(),
    })
    .where(and(eq(api_keys.id, id), isInScope(ctx, scope), isActiveKey()))
    .returning();
  if (row === undefined) throw notFound("API key", id);
  forgetCallers();
  return ApiKeyWithSecret.parse({ ...toApiKey(row), key: api_key });
}

export async function revokeApiKey(ctx: Context, scope: KeyScope, id: string): Promise<ApiKey> {
  await assertManages(ctx, scope);
  const isMeant = and(eq(api_keys.id, id), isInScope(ctx, scope), isNull(api_keys.revoked_at));
  const [key] = await ctx.db.select().from(api_keys).where(isMeant);
  if (key === undefined) throw notFound("API key", id);
  const { meta } = await ctx.db
    .update(api_keys)
    .set({ revoked_at: new Date().toISOString() })
    .where(and(isMeant, isDispensable(key)));
  if (meta.changes === 0) throw lastAdmin(key.workspace_id ? "workspace" : "organization");
  forgetCallers();
  return toApiKey(key);
}

/** SQL condition of the update: concurrent revocations of the last two admins cannot both pass. */
function isDispensable(key: KeyRow): SQL | undefined {
  const isExpired = key.expires_at !== null && key.expires_at <= new Date().toISOString();
  return key.role === "admin" && !isExpired ? hasOtherAdmin(key, key.id) : undefined;
}

async function assertManages(ctx: Context, scope: KeyScope): Promise<void> {
  if (scope === "workspace") return assertAdmin(ctx);
  if (scope === "organization") return assertOrganizationAdmin(ctx);
  return assertPrincipalActive(ctx.db, ctx.caller);
}

function isInScope(ctx: Context, scope: KeyScope): SQL | undefined {
  const { organization_id, workspace_id } = ctx.caller;
  const isOwn = eq(api_keys.organization_id, organization_id);
  if (scope === "personal") {
    return and(isOwn, eq(api_keys.kind, "personal"), eq(api_keys.user_id, userOf(ctx) ?? ""));
  }
  const isBound = scope === "workspace" ? eq(api_keys.workspace_id, workspace_id) : undefined;
  return and(isOwn, eq(api_keys.kind, "service"), isBound);
}

function userOf({ caller: { actor } }: Context): string | null {
  return "user_id" in actor ? actor.user_id : null;
}

function serviceKey(request: ApiKeyCreateRequest) {
  const { description, expires_at, read_only } = request;
  const role = workspaceRoleOf(request, read_only ? "viewer" : "admin");
  return { kind: "service", user_id: null, role, description, expires_at } as const;
}

async function insertKey(ctx: Context, scope: KeyScope, key: NewKey): Promise<ApiKeyWithSecret> {
  const { db, caller } = ctx;
  const expires_at = await expiryOf(ctx, key.expires_at);
  const isKept = and(isInScope(ctx, scope), isNull(api_keys.revoked_at));
  const [found] = await db.select({ keys: count() }).from(api_keys).where(isKept);
  if ((found?.keys ?? 0) >= MAX_KEYS) {
    throw new AppError("conflict", `The limit of ${MAX_KEYS} keys is reached: revoke one first.`);
  }
  const { api_key, sha256, prefix } = newApiKey(key.kind);
  const values = {
    ...key,
    id: newId(),
    sha256,
    prefix,
    organization_id: caller.organization_id,
    created_by: whoOf(caller.actor),
    created_at: new Date().toISOString(),
    expires_at,
  };
  const [row] = await db.insert(api_keys).values(values).returning();
  return ApiKeyWithSecret.parse({ ...(row && toApiKey(row)), key: api_key });
}

/** A key with an expiry creates no key that outlives it. */
async function expiryOf(
  ctx: Context,
  requested: string | null | undefined,
): Promise<string | null> {
  const micros = requested ? toMicros(requested) : null;
  const expires_at = micros === null ? null : new Date(micros / 1000).toISOString();
  if (expires_at !== null && expires_at <= new Date().toISOString()) {
    throw invalid(["body", "expires_at"], "must be in the future");
  }
  const { actor } = ctx.caller;
  if (actor.type !== "api_key") return expires_at;
  const isCaller = and(eq(api_keys.id, actor.key_id), gt(api_keys.expires_at, ""));
  const [limit] = await ctx.db.select().from(api_keys).where(isCaller);
  if (!limit?.expires_at || (expires_at !== null && expires_at <= limit.expires_at)) {
    return expires_at;
  }
  const text = `must be at or before ${limit.expires_at}, when the calling key expires`;
  throw invalid(["body", "expires_at"], text);
}

async function assertOwnWorkspace({ db, caller }: Context, id: string): Promise<void> {
  const { organization_id } = caller;
  const isOwn = and(eq(workspaces.id, id), eq(workspaces.organization_id, organization_id));
  const [found] = await db.select({ id: workspaces.id }).from(workspaces).where(isOwn);
  if (found === undefined) {
    throw invalid(["body", "workspaces", 0], "must be a workspace of the organization");
  }
}

function toApiKey({ prefix, ...row }: KeyRow): ApiKey {
  const role: Role | null = row.role;
  return ApiKey.parse({
    ...row,
    short_key: `${prefix}...`,
    access_scope: row.workspace_id === null ? "organization" : "workspace",
    role_id: role && workspaceRoleFields(role).role_id,
    read_only: role === "viewer",
  });
}
