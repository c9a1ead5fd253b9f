import { and, eq, sql } from "drizzle-orm";
import { assertMay } from "../../../shared/auth.ts";
import { type Context, type Database, database } from "../../../shared/context.ts";
import { deriveSecrets, isSameSecret, isSignedWith } from "../../../shared/crypto/signing.ts";
import { AppError, notFound } from "../../../shared/errors.ts";
import { baseUrl } from "../../../shared/http/base-url.ts";
import { newId } from "../../../shared/storage/ids.ts";
import { isOrphaned, isUniqueViolation } from "../../../shared/storage/sql.ts";
import { assertStorageQuota } from "../../quotas/quota-service.ts";
import { sendBuilds } from "../queue.ts";
import { type DeploymentRow, insertRevisionOf } from "../rows.ts";
import { deployments, integrations, webhook_deliveries } from "../table.ts";
import type { Webhook, WebhookAnswer } from "./integration-schema.ts";
import { findIntegration } from "./integration-service.ts";
import {
  concerns,
  deliveryId,
  isPush,
  type Proof,
  type Push,
  readProof,
  readPush,
} from "./pushes.ts";

const PURPOSE = "webhooks";

/**
 * Returns the values to enter at the repository host. The secret is derived from the installation's key and not
 * stored.
 */
export async function getWebhook(ctx: Context, id: string, origin: string): Promise<Webhook> {
  assertMay(ctx, "write");
  if (!(await findIntegration(ctx.db, ctx.caller.workspace_id, id))) {
    throw notFound("Integration", id);
  }
  const [secret = ""] = await deriveSecrets(ctx.env, PURPOSE, id);
  return { url: `${baseUrl(ctx.env, origin)}/webhooks/${id}`, secret };
}

/**
 * Creates a revision for each deployment that has `build_on_push` and the pushed branch. Needs no caller: the signature
 * authorizes it.
 */
export async function receiveWebhook(
  env: Env,
  integration_id: string,
  headers: Headers,
  body: string,
): Promise<WebhookAnswer> {
  const db = database(env);
  const integration = await find(db, integration_id);
  const isGenuine = await isProven(env, integration_id, readProof(headers), body);
  if (!integration || !isGenuine) throw notProven();
  const delivery_id = deliveryId(headers);
  const push = isPush(headers) ? readPush(parse(body)) : null;
  if (delivery_id === null || push === null) {
    return { revisions: [], detail: "Ignored: only pushes of branches are built." };
  }
  const { workspace_id } = integration;
  const delivery = { integration_id, delivery_id, workspace_id };
  return buildConcerned(env, db, delivery, push).catch((error: unknown) => {
    // A deployment was deleted after it was read. The second read excludes it.
    if (!isOrphaned(error)) throw error;
    return buildConcerned(env, db, delivery, push);
  });
}

type BuiltDeployment = Pick<DeploymentRow, "id" | "source" | "workspace_id">;
type Delivery = { integration_id: string; delivery_id: string; workspace_id: string };

async function buildConcerned(
  env: Env,
  db: Database,
  delivery: Delivery,
  push: Push,
): Promise<WebhookAnswer> {
  const { workspace_id, integration_id } = delivery;
  const matching = await findConcerned(db, workspace_id, integration_id, push);
  if (matching.length > 0) await assertStorageQuota({ env, db, caller: { workspace_id } });
  return buildAll(env, db, delivery, matching, push);
}

const UNWANTED = "Ignored: no deployment of this repository and branch has build_on_push.";

/** Writes the delivery and its revisions in one transaction: after a failure, the host can deliver the event again. */
async function buildAll(
  env: Env,
  db: Database,
  delivery: Delivery,
  rows: readonly BuiltDeployment[],
  push: Push,
): Promise<WebhookAnswer> {
  const input = { now: new Date().toISOString(), trigger: "push", commit: push.commit } as const;
  const { now } = input;
  // Without a record, the host can deliver the event again after a deployment sets build_on_push.
  if (rows.length === 0) return { revisions: [], detail: UNWANTED };
  const planned = rows.map((deployment) => ({ deployment, revision_id: newId() }));
  try {
    await db.batch([
      db.insert(webhook_deliveries).values({ ...delivery, created_at: now }),
      ...planned.flatMap(({ deployment, revision_id }) => [
        insertRevisionOf(db, deployment, revision_id, input),
        db
          .update(deployments)
          .set({ latest_revision_id: revision_id, updated_at: now })
          .where(eq(deployments.id, deployment.id)),
      ]),
    ]);
  } catch (error) {
    if (!isUniqueViolation(error, "webhook_deliveries")) throw error;
    return { revisions: [], detail: "Ignored: this delivery was received before." };
  }
  const revisions = planned.map(({ revision_id }) => revision_id);
  await sendBuilds(env, revisions);
  return { revisions, detail: "Building." };
}

async function findConcerned(
  db: Database,
  workspace_id: string,
  integration_id: string,
  push: Push,
): Promise<BuiltDeployment[]> {
  const { source_config, source_revision_config } = deployments;
  // Selects few columns, because whole rows of all deployments may exceed the memory of an isolate.
  const rows = await db
    .select({
      id: deployments.id,
      source: deployments.source,
      workspace_id: deployments.workspace_id,
      repo_url: sql<string | null>`${source_config} ->> 'repo_url'`,
      repo_ref: sql<string | null>`${source_revision_config} ->> 'repo_ref'`,
    })
    .from(deployments)
    .where(
      and(
        eq(deployments.workspace_id, workspace_id),
        eq(deployments.status, "READY"),
        sql`${source_config} ->> 'integration_id' = ${integration_id}`,
        sql`json_type(${source_config}, '$.build_on_push') = 'true'`,
      ),
    );
  return rows.filter(({ repo_url, repo_ref }) => concerns(push, repo_url, repo_ref));
}

async function find(db: Database, id: string) {
  const [row] = await db.select().from(integrations).where(eq(integrations.id, id));
  return row;
}

/** Accepts the secrets of all keys of the installation: hosts keep an old one after a rotation of keys. */
async function isProven(env: Env, id: string, proof: Proof | null, body: string) {
  if (proof === null) return false;
  for (const secret of await deriveSecrets(env, PURPOSE, id)) {
    const fits =
      proof.kind === "secret"
        ? isSameSecret(secret, proof.secret)
        : await isSignedWith(secret, body, proof.signature);
    if (fits) return true;
  }
  return false;
}

/** @throws AppError 400 for bodies that are not JSON: hosts can also send forms */
function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw notJson(error);
  }
}

function notJson(cause: unknown): AppError {
  const text =
    "The body is not JSON: set the webhook's content type to application/json at the host.";
  return new AppError("bad_request", text, { cause });
}

function notProven(): AppError {
  const text =
    "The signature does not match: set the secret from GET /v1/integrations/github/{integration_id}/webhook at the host.";
  return new AppError("unauthenticated", text);
}
