import { and, eq, sql } from "drizzle-orm";
import { database } from "../../../shared/context.ts";
import { deleteBelow } from "../../../shared/storage/objects-below.ts";
import { objectKeysOf, resolutionPrefix } from "../../builds/contract.ts";
import { deleteCodeRecords } from "../isolate/code-record.ts";
import { agentLog } from "../logs/agent-log.ts";
import { agent_logs } from "../logs/table.ts";
import type { DeletionMessage } from "../queue.ts";
import { sendDeletions } from "../queue.ts";
import { uploadPrefix } from "../sources.ts";
import { deployments, revisions, secrets, uploads } from "../table.ts";

/** Deletes a bounded part of a deployment's data. @returns `true` when nothing is left */
export type Cleaner = (env: Env, deployment_id: string) => Promise<boolean>;

const LOG_LINES = 5000;
const REVISIONS = 200;

/**
 * Each message does one bounded step and sends the next one. The row is deleted last. A workspace deletes its oldest
 * deployments first: the end of each deletion sends those that waited for it.
 */
export async function consumeDeletion(
  env: Env,
  { deployment_id }: Pick<DeletionMessage, "deployment_id">,
  cleaners: readonly Cleaner[],
): Promise<void> {
  const [row] = await database(env)
    .select({ id: deployments.id, workspace_id: deployments.workspace_id })
    .from(deployments)
    .where(and(eq(deployments.id, deployment_id), isInTurn));
  if (!row) return;
  const deleteUploads: Cleaner = () => deleteBelow(env.ARTIFACTS, uploadPrefix(row));
  const own = [
    ...[deleteLogs, clearAgentLog, deleteUploads, deleteResolutions],
    // Loads write records while the revisions exist.
    ...[deleteRevisions, deleteCodeRecords],
  ];
  for (const clean of [...cleaners, ...own]) {
    if (!(await clean(env, deployment_id))) {
      return sendDeletions(env, [deployment_id]);
    }
  }
  const db = database(env);
  await db.batch([
    db.delete(secrets).where(eq(secrets.deployment_id, deployment_id)),
    db.delete(uploads).where(eq(uploads.deployment_id, deployment_id)),
    db.delete(deployments).where(eq(deployments.id, deployment_id)),
  ]);
  await sendNextDeletions(env, row.workspace_id);
}

/** Deletions of a workspace at once. */
const MAX_DELETIONS_AT_ONCE = 2;

/** Deletions that a message may continue. Ids grow with time. Reads at most two rows of an index for each. */
export const isInTurn = sql`${deployments.status} = 'AWAITING_DELETE' and (
  select count(*) from (
    select 1 from deployments earlier
    where earlier.workspace_id = ${deployments.workspace_id} and earlier.status = 'AWAITING_DELETE'
      and earlier.id < ${deployments.id}
    limit ${MAX_DELETIONS_AT_ONCE}
  )
) < ${MAX_DELETIONS_AT_ONCE}`;

async function sendNextDeletions(env: Env, workspace_id: string): Promise<void> {
  const rows = await database(env)
    .select({ id: deployments.id })
    .from(deployments)
    .where(and(eq(deployments.workspace_id, workspace_id), isInTurn));
  await sendDeletions(
    env,
    rows.map(({ id }) => id),
  );
}

async function deleteLogs(env: Env, deployment_id: string): Promise<boolean> {
  const { meta } = await database(env).run(sql`
    delete from build_logs where id in (
      select build_logs.id from build_logs
      join revisions on revisions.id = build_logs.revision_id
      where revisions.deployment_id = ${deployment_id} limit ${LOG_LINES}
    )
  `);
  return meta.changes < LOG_LINES;
}

function deleteResolutions(env: Env, deployment_id: string): Promise<boolean> {
  return deleteBelow(env.ARTIFACTS, resolutionPrefix(deployment_id));
}

async function clearAgentLog(env: Env, deployment_id: string): Promise<boolean> {
  await agentLog(env, deployment_id).clear();
  await database(env).delete(agent_logs).where(eq(agent_logs.deployment_id, deployment_id));
  return true;
}

/** Deletes artifacts before their revision's row, which holds the key. */
async function deleteRevisions(env: Env, deployment_id: string): Promise<boolean> {
  const db = database(env);
  const rows = await db
    .select({ id: revisions.id, artifact_key: revisions.artifact_key })
    .from(revisions)
    .where(eq(revisions.deployment_id, deployment_id))
    .limit(REVISIONS);
  const keys = rows.flatMap(({ artifact_key: key }) => (key === null ? [] : objectKeysOf(key)));
  if (keys.length > 0) await env.ARTIFACTS.delete(keys);
  const ids = JSON.stringify(rows.map(({ id }) => id));
  await db.delete(revisions).where(sql`${revisions.id} in (select value from json_each(${ids}))`);
  return rows.length < REVISIONS;
}
