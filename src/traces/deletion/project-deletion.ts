import { and, eq, isNotNull, isNull, lte, type SQL, sql } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { deleteBelow } from "../../shared/storage/objects-below.ts";
import { EMPTY_PARTITION, isPartition } from "../catalogue/catalogue.ts";
import { partitions, projects } from "../catalogue/table.ts";
import { deleteLinksOfProject } from "../links/share-links.ts";
import { deleteHomes } from "../locations/locations.ts";
import { type ProjectDeletionMessage, sendProjectDeletions } from "../messages.ts";
import { tracePartition } from "../object/stub.ts";
import { payloadPrefix } from "../rows/payloads.ts";

/** Time after which no isolate has a deleted project in its cache any more, so that no new writes begin. */
const LAST_WRITES_MS = 60_000;
const RESEND_AFTER_MS = 15_000;
/** Maximum number of partitions of one step, and of projects of one sweep. */
const [PARTITIONS, BATCH] = [20, 50];
const NO_BYTES = { bytes: 0, file_bytes: 0, payload_bytes: 0, attachment_bytes: 0 };

/** Does one bounded step. Sends a message for the next one while data remains. Deletes the project's row last. */
export async function consumeProjectDeletion(
  env: Env,
  { project_id, sent_at }: Pick<ProjectDeletionMessage, "project_id" | "sent_at">,
): Promise<void> {
  const isCurrent = sent_at === undefined ? undefined : isSentAt(sent_at);
  const [row] = await database(env)
    .select()
    .from(projects)
    .where(and(eq(projects.id, project_id), isNotNull(projects.deleted_at), isCurrent));
  if (!row?.deleted_at) return;
  const isSettled = Date.parse(row.deleted_at) <= Date.now() - LAST_WRITES_MS;
  const cleanPartitions = isSettled ? deletePartitions : emptyPartitions;
  for (const clean of [deleteLinksOfProject, cleanPartitions, deletePayloads]) {
    if (!(await clean(env, project_id))) return sendNextStep(env, row);
  }
  await deleteHomes(env, row.workspace_id, { project_id, day: null });
  // Keeps the row: the sweep sends a message again, and that step deletes late writes.
  if (!isSettled) return;
  await database(env).delete(projects).where(eq(projects.id, project_id));
}

/** Sends the messages of unfinished deletions again: lost ones, and those that delete late writes. */
export async function sweepProjectDeletions(env: Env, now: Date): Promise<void> {
  const before = new Date(now.getTime() - RESEND_AFTER_MS).toISOString();
  const due = database(env)
    .select({ id: projects.id })
    .from(projects)
    .where(and(isNotNull(projects.deleted_at), lte(projects.sent_at, before)))
    .limit(BATCH);
  const rows = await database(env)
    .update(projects)
    .set({ sent_at: now.toISOString() })
    .where(sql`${projects.id} in ${due}`)
    .returning({ id: projects.id, sent_at: projects.sent_at });
  await sendProjectDeletions(env, rows);
}

/** Compare-and-set: a message that was delivered twice, or that the sweep replaced, does not send a next one. */
async function sendNextStep(
  env: Env,
  { id, sent_at }: Pick<typeof projects.$inferSelect, "id" | "sent_at">,
): Promise<void> {
  const rows = await database(env)
    .update(projects)
    .set({ sent_at: new Date().toISOString() })
    .where(and(eq(projects.id, id), isSentAt(sent_at)))
    .returning({ id: projects.id, sent_at: projects.sent_at });
  await sendProjectDeletions(env, rows);
}

function isSentAt(sent_at: string | null) {
  return sql`${projects.sent_at} is ${sent_at}`;
}

/** Empties open partitions, and keeps their rows: a late write creates an object again, which only its row names. */
async function emptyPartitions(env: Env, project_id: string): Promise<boolean> {
  const rows = await someOf(env, project_id, isNull(partitions.closed_at));
  for (const partition of rows) {
    await tracePartition(env, partition).deleteAll(partition);
    await database(env)
      .update(partitions)
      .set({ ...EMPTY_PARTITION, ...NO_BYTES, closed_at: new Date().toISOString() })
      .where(isPartition(partition));
  }
  return rows.length < PARTITIONS;
}

async function deletePartitions(env: Env, project_id: string): Promise<boolean> {
  const rows = await someOf(env, project_id);
  for (const partition of rows) {
    await tracePartition(env, partition).deleteAll(partition);
    await database(env).delete(partitions).where(isPartition(partition));
  }
  return rows.length < PARTITIONS;
}

function someOf(env: Env, project_id: string, where?: SQL) {
  return database(env)
    .select()
    .from(partitions)
    .where(and(eq(partitions.project_id, project_id), where))
    .limit(PARTITIONS);
}

function deletePayloads(env: Env, project_id: string): Promise<boolean> {
  return deleteBelow(env.ARTIFACTS, payloadPrefix(project_id));
}
