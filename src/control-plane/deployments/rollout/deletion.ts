import { and, eq, sql } from "drizzle-orm";
import { type Database, database } from "../../../shared/context.ts";
import { deleteBelow } from "../../../shared/storage/objects-below.ts";
import { artifactKeyOf, objectKeysOf, resolutionPrefix } from "../../builds/contract.ts";
import { deleteCodeRecords } from "../isolate/code-record.ts";
import { agentLog } from "../logs/agent-log.ts";
import { agent_logs } from "../logs/table.ts";
import type { DeletionMessage } from "../queue.ts";
import { sendDeletions } from "../queue.ts";
import type { DeploymentRow } from "../rows.ts";
import { uploadPrefix } from "../sources.ts";
import { deployments, revisions, secrets, uploads } from "../table.ts";

/** Deletes a bounded part of a deployment's data. @returns `true` when nothing is left */
export type DeletionStep = (env: Env, deployment_id: string) => Promise<boolean>;

const LOG_LINES = 5000;
const REVISIONS = 200;

/**
 * Runs the deletion steps in their order. Sends another message when a step leaves data, so that one message deletes a
 * bounded amount. Deletes the row last. A workspace deletes its oldest deployments first: the end of a deletion sends
 * the message of one that waits.
 */
export async function consumeDeletion(
  env: Env,
  { deployment_id, updated_at }: Pick<DeletionMessage, "deployment_id" | "updated_at">,
  steps: readonly DeletionStep[],
): Promise<void> {
  const isCurrent = updated_at === undefined ? undefined : eq(deployments.updated_at, updated_at);
  const [row] = await database(env)
    .select()
    .from(deployments)
    .where(and(eq(deployments.id, deployment_id), isInTurn, isCurrent));
  if (!row) return;
  const deleteUploads: DeletionStep = () => deleteBelow(env.ARTIFACTS, uploadPrefix(row));
  const own = [
    ...[deleteLogs, clearAgentLog, deleteUploads, deleteResolutions],
    // Code records are deleted after the revisions: until then a load may write them.
    ...[deleteRevisions, deleteCodeRecords],
  ];
  for (const step of [...steps, ...own]) {
    if (!(await step(env, deployment_id))) return sendNextStep(env, row);
  }
  const db = database(env);
  const [, , , next] = await db.batch([
    db.delete(secrets).where(eq(secrets.deployment_id, deployment_id)),
    db.delete(uploads).where(eq(uploads.deployment_id, deployment_id)),
    db.delete(deployments).where(eq(deployments.id, deployment_id)),
    touchNextInTurn(db, row.workspace_id),
  ]);
  await sendDeletions(env, next);
}

/** Concurrent deletions of a workspace. */
const MAX_DELETIONS_AT_ONCE = 2;

/**
 * Matches the `MAX_DELETIONS_AT_ONCE` oldest deletions of a workspace: ids grow with time. Reads at most two rows of an
 * index for each deployment.
 */
export const isInTurn = sql`${deployments.status} = 'AWAITING_DELETE' and (
  select count(*) from (
    select 1 from deployments earlier
    where earlier.workspace_id = ${deployments.workspace_id} and earlier.status = 'AWAITING_DELETE'
      and earlier.id < ${deployments.id}
    limit ${MAX_DELETIONS_AT_ONCE}
  )
) < ${MAX_DELETIONS_AT_ONCE}`;

/**
 * Sends the next message by compare-and-set, so that a duplicate message, or one that the sweep replaced, ends here.
 */
async function sendNextStep(env: Env, { id, updated_at }: DeploymentRow): Promise<void> {
  const rows = await database(env)
    .update(deployments)
    .set({ updated_at: new Date().toISOString() })
    .where(and(eq(deployments.id, id), eq(deployments.updated_at, updated_at)))
    .returning({ id: deployments.id, updated_at: deployments.updated_at });
  await sendDeletions(env, rows);
}

/** Touches the deletion that enters the `MAX_DELETIONS_AT_ONCE` oldest ones. Those before it have a message already. */
function touchNextInTurn(db: Database, workspace_id: string) {
  return db
    .update(deployments)
    .set({ updated_at: new Date().toISOString() })
    .where(
      sql`${deployments.id} in (
        select id from deployments
        where workspace_id = ${workspace_id} and status = 'AWAITING_DELETE'
        order by id limit 1 offset ${MAX_DELETIONS_AT_ONCE - 1}
      )`,
    )
    .returning({ id: deployments.id, updated_at: deployments.updated_at });
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

/** Deletes artifacts before their revision's row, which names them. A failed build may have stored objects too. */
async function deleteRevisions(env: Env, deployment_id: string): Promise<boolean> {
  const db = database(env);
  const rows = await db
    .select({ id: revisions.id, artifact_key: revisions.artifact_key })
    .from(revisions)
    .where(eq(revisions.deployment_id, deployment_id))
    .limit(REVISIONS);
  const keys = rows.flatMap(({ id, artifact_key }) =>
    objectKeysOf(artifact_key ?? artifactKeyOf(id)),
  );
  if (keys.length > 0) await env.ARTIFACTS.delete(keys);
  const ids = JSON.stringify(rows.map(({ id }) => id));
  await db.delete(revisions).where(sql`${revisions.id} in (select value from json_each(${ids}))`);
  return rows.length < REVISIONS;
}
