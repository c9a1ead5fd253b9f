import { and, eq, lte, sql } from "drizzle-orm";
import { assertMay } from "../../../shared/auth.ts";
import { type Context, database } from "../../../shared/context.ts";
import { isSigned, type Signature, sign } from "../../../shared/crypto/signing.ts";
import { AppError, notFound } from "../../../shared/errors.ts";
import { baseUrl } from "../../../shared/http/base-url.ts";
import { newId } from "../../../shared/storage/ids.ts";
import { among } from "../../../shared/storage/sql.ts";
import { assertStorageQuota } from "../../quotas/quota-service.ts";
import { assertChangeable, findDeployment } from "../rows.ts";
import { deployments, uploads } from "../table.ts";
import type { UploadResult, UploadUrl } from "./upload-schema.ts";
import {
  assertNotExpired,
  assertUploadPlan,
  MAX_UNUSED_BYTES,
  objectPath,
  parseSize,
  type SourceUpload,
  signedText,
  UNUSED_MS,
  UPLOAD_SECONDS,
} from "./uploads.ts";

const PURPOSE = "uploads";

/** Creates a signed URL for the upload of one tarball. */
export async function createUploadUrl(
  ctx: Context,
  deployment_id: string,
  origin: string,
): Promise<UploadUrl> {
  assertMay(ctx, "write");
  const deployment = await findDeployment(ctx, deployment_id);
  assertChangeable(deployment);
  if (deployment.source !== "internal_source") {
    const text = `Uploads are only available for 'internal_source' source deployments; deployment ${deployment_id} has the source github.`;
    throw new AppError("bad_request", text);
  }
  assertUploadPlan(ctx.caller);
  await assertStorageQuota(ctx);
  const { workspace_id } = ctx.caller;
  const expires = Math.floor(Date.now() / 1000) + UPLOAD_SECONDS;
  const upload = { workspace_id, deployment_id, upload_id: newId(), expires };
  const { key_id, signature } = await sign(ctx.env, PURPOSE, signedText(upload));
  const query = new URLSearchParams({ expires: String(expires), key: key_id, signature });
  const base = baseUrl(ctx.env, origin);
  const path = `/uploads/${workspace_id}/${deployment_id}/${upload.upload_id}`;
  return { upload_url: `${base}${path}?${query}`, object_path: objectPath(upload) };
}

/** Stores an upload. Needs no caller: the signature in the URL authorizes it. */
export async function receiveUpload(
  env: Env,
  upload: SourceUpload,
  signature: Signature,
  request: Request,
): Promise<UploadResult> {
  if (!(await isSigned(env, PURPOSE, signedText(upload), signature))) {
    const text = "The signature does not match this URL: use upload_url unchanged.";
    throw new AppError("forbidden", text);
  }
  assertNotExpired(upload, new Date());
  const bytes = parseSize(request.headers.get("content-length"));
  await assertWanted(env, upload);
  await assertStorageQuota({ env, db: database(env), caller: upload });
  const key = objectPath(upload);
  await reserve(env, upload, bytes);
  const stored = await store(env, key, request.body).catch(async (error: unknown) => {
    await countStored(env, key);
    throw error;
  });
  if (stored === null) {
    await countStored(env, key);
    const text = "The URL was used before: create another upload URL.";
    throw new AppError("conflict", text);
  }
  await countBytes(env, key, stored.size);
  // A concurrent deletion may have listed the objects before this one was stored.
  await assertWanted(env, upload).catch(async (error: unknown) => {
    await env.ARTIFACTS.delete(key);
    throw error;
  });
  return { object_path: key, size_bytes: stored.size };
}

/**
 * Inserts the row before the object is stored, so that the sweep finds each object. A repeated attempt counts with the
 * larger size until one has stored the object.
 */
async function reserve(env: Env, upload: SourceUpload, bytes: number): Promise<void> {
  const { workspace_id, deployment_id } = upload;
  const object_path = objectPath(upload);
  const unused = sql`select coalesce(sum(bytes), 0) from uploads
    where is_used = 0 and workspace_id = ${workspace_id} and object_path <> ${object_path}`;
  const created_at = new Date().toISOString();
  const rows = await database(env).all(sql`
    insert into ${uploads} (object_path, workspace_id, deployment_id, bytes, is_used, created_at)
    select ${object_path}, ${workspace_id}, ${deployment_id}, ${bytes}, 0, ${created_at}
    where (${unused}) + ${bytes} <= ${MAX_UNUSED_BYTES}
    on conflict (object_path) do update set bytes = max(bytes, excluded.bytes)
    returning object_path
  `);
  if (rows.length > 0) return;
  const text =
    `Uploads that no revision uses may take ${MAX_UNUSED_BYTES} bytes of a workspace. ` +
    "Create revisions of them, or wait: each is deleted a day after its upload.";
  throw new AppError("quota_exceeded", text);
}

function store(env: Env, key: string, body: Request["body"]): Promise<R2Object | null> {
  return env.ARTIFACTS.put(key, body, {
    onlyIf: { etagDoesNotMatch: "*" },
    httpMetadata: { contentType: "application/gzip" },
  });
}

/**
 * Sets the size after a failed attempt, 0 without an object. Keeps the row for the sweep: a concurrent attempt may store
 * the object.
 */
async function countStored(env: Env, object_path: string): Promise<void> {
  const object = await env.ARTIFACTS.head(object_path);
  await countBytes(env, object_path, object?.size ?? 0);
}

async function countBytes(env: Env, object_path: string, bytes: number): Promise<void> {
  await database(env).update(uploads).set({ bytes }).where(eq(uploads.object_path, object_path));
}

async function assertWanted(
  env: Env,
  { deployment_id, workspace_id }: SourceUpload,
): Promise<void> {
  const [row] = await database(env)
    .select({ id: deployments.id })
    .from(deployments)
    .where(
      and(
        eq(deployments.id, deployment_id),
        eq(deployments.workspace_id, workspace_id),
        eq(deployments.status, "READY"),
      ),
    );
  if (!row) throw notFound("Deployment", deployment_id);
}

const SWEPT = 50;

/** Deletes old uploads that no revision uses. Deletes objects first: after a crash, the rows still name them. */
export async function sweepUploads(env: Env, now: Date): Promise<void> {
  const db = database(env);
  const oldest = new Date(now.getTime() - UNUSED_MS).toISOString();
  const isUnused = and(eq(uploads.is_used, false), lte(uploads.created_at, oldest));
  const rows = await db
    .select({ path: uploads.object_path })
    .from(uploads)
    .where(isUnused)
    .limit(SWEPT);
  if (rows.length === 0) return;
  const paths = rows.map(({ path }) => path);
  await env.ARTIFACTS.delete(paths);
  await db.delete(uploads).where(and(isUnused, among(uploads.object_path, paths)));
}

/** Refuses push tokens. Published clients request one before they push an image. */
export async function refusePushToken(ctx: Context, deployment_id: string): Promise<never> {
  assertMay(ctx, "write");
  await findDeployment(ctx, deployment_id);
  const text =
    "Push tokens are only available for 'internal_docker' source deployments. Images are not supported: upload the source, as langgraphjs deploy --remote does.";
  throw new AppError("bad_request", text);
}
