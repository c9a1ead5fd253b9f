import { and, eq, isNull } from "drizzle-orm";
import type { Context } from "../../../shared/context.ts";
import { AppError, invalid } from "../../../shared/errors.ts";
import { principalIdOf } from "../../../shared/http/rate-limit.ts";
import { newId } from "../../../shared/storage/ids.ts";
import { insertBelow } from "../../../shared/storage/sql.ts";
import { toMicros } from "../../../shared/times.ts";
import { workspaceRoleOf } from "../roles.ts";
import { api_keys, workspaces } from "../table.ts";
import {
  type ApiKeyCreateRequest,
  ApiKeyWithSecret,
  type PersonalKeyCreateRequest,
  type ServiceKeyCreateRequest,
} from "./key-schema.ts";
import {
  assertExpiry,
  assertManages,
  isInScope,
  type KeyScope,
  MAX_KEYS,
  toApiKey,
  userOf,
} from "./key-service.ts";
import { newApiKey } from "./keys.ts";

type KeyRow = typeof api_keys.$inferSelect;
type NewKey = Pick<KeyRow, "kind" | "workspace_id" | "user_id" | "role" | "description"> & {
  expires_at: string | null | undefined;
};

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

function serviceKey(request: ApiKeyCreateRequest) {
  const { description, expires_at, read_only } = request;
  const role = workspaceRoleOf(request, read_only ? "viewer" : "admin");
  return { kind: "service", user_id: null, role, description, expires_at } as const;
}

async function insertKey(ctx: Context, scope: KeyScope, key: NewKey): Promise<ApiKeyWithSecret> {
  const { db, caller } = ctx;
  const expires_at = await expiryOf(ctx, key.expires_at);
  const isKept = and(isInScope(ctx, scope), isNull(api_keys.revoked_at));
  const { api_key, sha256, prefix } = newApiKey(key.kind);
  const values = {
    ...key,
    id: newId(),
    sha256,
    prefix,
    organization_id: caller.organization_id,
    created_by: principalIdOf(caller.actor),
    created_at: new Date().toISOString(),
    expires_at,
  };
  const row = await insertBelow(db, api_keys, values, { limit: MAX_KEYS, where: isKept });
  if (row !== undefined) return ApiKeyWithSecret.parse({ ...toApiKey(row), key: api_key });
  throw new AppError("conflict", `The limit of ${MAX_KEYS} keys is reached: revoke one first.`);
}

async function expiryOf(
  ctx: Context,
  requested: string | null | undefined,
): Promise<string | null> {
  const micros = requested ? toMicros(requested) : null;
  const expires_at = micros === null ? null : new Date(micros / 1000).toISOString();
  if (expires_at !== null && expires_at <= new Date().toISOString()) {
    throw invalid(["body", "expires_at"], "must be in the future");
  }
  await assertExpiry(ctx, expires_at);
  return expires_at;
}

async function assertOwnWorkspace({ db, caller }: Context, id: string): Promise<void> {
  const { organization_id } = caller;
  const isOwn = and(eq(workspaces.id, id), eq(workspaces.organization_id, organization_id));
  const [found] = await db.select({ id: workspaces.id }).from(workspaces).where(isOwn);
  if (found === undefined) {
    throw invalid(["body", "workspaces", 0], "must be a workspace of the organization");
  }
}
