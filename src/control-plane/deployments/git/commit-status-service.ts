import { and, eq, gt, ne } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { database } from "../../../shared/context.ts";
import { isBusy } from "../../../shared/egress/busy.ts";
import { egressPolicy, safeFetch } from "../../../shared/egress/egress.ts";
import { AppError } from "../../../shared/errors.ts";
import { log } from "../../../shared/log.ts";
import { revisionUrl } from "../answers.ts";
import { type BuildMessage, sendReport } from "../queue.ts";
import { isFinished } from "../revisions.ts";
import type { RevisionStatus } from "../schema.ts";
import { deployments, revisions } from "../table.ts";
import { apiHeaders, apiUrl, isHostOf, statusRequest } from "./git-host.ts";
import { findIntegration, tokenOf } from "./integration-service.ts";

const LIMITS = { timeout_ms: 10_000, max_bytes: 256 * 1024 };

/** Reports the status of a revision to the repository host. Best effort: a build never fails for it. */
export async function reportCommitStatus(env: Env, revision_id: string): Promise<void> {
  await tryReport(env, revision_id, () => true);
}

/**
 * Reports the status of a build that has ended. If the host does not answer, the commit stays pending there, so a later
 * message reports the status again, up to five times.
 */
export async function reportEnd(
  env: Env,
  { revision_id, reports = 0 }: Omit<BuildMessage, "type">,
): Promise<void> {
  if (await isSuperseded(env, revision_id)) return;
  if (await tryReport(env, revision_id, isFinished)) return;
  await sendReport(env, revision_id, reports + 1);
}

/**
 * Returns whether a newer revision of the same commit has another status: a commit has the status of its newest revision.
 * A copy that is deployed at once is never reported, so its equal status does not count.
 */
async function isSuperseded(env: Env, revision_id: string): Promise<boolean> {
  const newer = alias(revisions, "newer");
  const [row] = await database(env)
    .select({ id: newer.id })
    .from(revisions)
    .innerJoin(
      newer,
      and(
        eq(newer.deployment_id, revisions.deployment_id),
        eq(newer.repo_commit_sha, revisions.repo_commit_sha),
        gt(newer.number, revisions.number),
        ne(newer.status, revisions.status),
      ),
    )
    .where(eq(revisions.id, revision_id))
    .limit(1);
  return row !== undefined;
}

/** @returns `false` when a later report may succeed */
async function tryReport(
  env: Env,
  revision_id: string,
  isReported: (status: RevisionStatus) => boolean,
): Promise<boolean> {
  try {
    return await sendStatus(env, revision_id, isReported);
  } catch (error) {
    log.error("commit_status_not_sent", error, { revision_id });
    return !["unavailable", "internal"].includes(AppError.from(error).code);
  }
}

async function sendStatus(
  env: Env,
  revision_id: string,
  isReported: (status: RevisionStatus) => boolean,
): Promise<boolean> {
  const row = await readRevision(env, revision_id);
  const { integration_id, repo_url } = row?.source_config ?? {};
  if (!row?.sha || integration_id === undefined || repo_url === undefined) return true;
  if (!isReported(row.status)) return true;
  const integration = await findIntegration(database(env), row.workspace_id, integration_id);
  if (!integration || !isHostOf(integration.api_url, repo_url)) return true;
  const { api_url } = integration;
  // Without BASE_URL the origin is unknown: a queue consumer has no request to take it from.
  const target_url = env.BASE_URL ? revisionUrl(env, "", { ...row, revision_id }) : null;
  const { name, sha, status, message } = row;
  const description = message ?? `Revision ${revision_id} is ${status}`;
  const request = statusRequest(api_url, { name, sha, repo_url, status, description, target_url });
  const headers = apiHeaders(api_url, await tokenOf(env, integration));
  const init = { method: "POST", headers, body: JSON.stringify(request.body) };
  const url = apiUrl(api_url, request.path);
  const response = await safeFetch(egressPolicy(env, "builds"), url, init, LIMITS);
  await response.body?.cancel();
  if (!response.ok) log.warn("commit_status_refused", { revision_id, status: response.status });
  return !isBusy(response);
}

async function readRevision(env: Env, revision_id: string) {
  const [row] = await database(env)
    .select({
      deployment_id: deployments.id,
      workspace_id: deployments.workspace_id,
      name: deployments.name,
      source_config: deployments.source_config,
      sha: revisions.repo_commit_sha,
      status: revisions.status,
      message: revisions.status_message,
    })
    .from(revisions)
    .innerJoin(deployments, eq(deployments.id, revisions.deployment_id))
    .where(eq(revisions.id, revision_id));
  return row;
}
