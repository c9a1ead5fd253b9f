import { and, eq } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { among, hasSome } from "../../shared/storage/sql.ts";
import { projects } from "../catalogue/table.ts";
import type { Home } from "../changes.ts";
import { deleteLinksOfTraces } from "../links/share-links.ts";
import { feedback_tokens } from "../links/table.ts";
import { deleteLocations, saveLocations } from "../locations/locations.ts";
import { keysOf } from "../rows/object-bytes.ts";
import { payloadPrefix } from "../rows/payloads.ts";
import {
  type Leftovers,
  type LinkedIds,
  locatedId,
  parseObjectsEntry,
} from "../storage/leftovers.ts";
import type { PartitionStore } from "../storage/partition.ts";
import type { SealedLeftover } from "../storage/sealed-files.ts";

// Maximum numbers of entries of each kind that one alarm removes.
const RUNS = 50;
const LOCATIONS = 5000;
const FILES = 50;
/** Each entry has up to 1000 runs: the ids of all fit one statement. */
const LINKS = 10;
/** Code of R2 for an upload that was completed or aborted. */
const NO_UPLOAD = "(10024)";

/** Deletes a bounded number of leftovers. Idempotent. Returns false when some may remain. */
export async function removeLeftovers(
  env: Env,
  partition: Home,
  store: Pick<PartitionStore, "leftovers" | "runs">,
): Promise<boolean> {
  const { leftovers } = store;
  const { project_id } = partition;
  const runs = leftovers.list("payloads", RUNS);
  for (const entry of runs) await deleteObjects(env, project_id, store.runs, entry);
  leftovers.remove("payloads", runs);
  const isLocated = await settleLocations(env, partition, leftovers);
  const isUnsealed = await removeSealed(env, leftovers);
  const isUnlinked = await removeLinks(env, partition, store);
  return runs.length < RUNS && isLocated && isUnsealed && isUnlinked;
}

/** Deletes all runs and their links, before the storage forgets the runs. */
export async function deleteRunsAndLinks(
  env: Env,
  partition: { project_id: string },
  store: PartitionStore,
): Promise<void> {
  if (!store.exists) return;
  store.deleteAllRuns();
  while (!(await removeLinks(env, partition, store)));
}

/** Deletes a bounded number of links to deleted runs. Idempotent. Returns false when some may remain. */
async function removeLinks(
  env: Env,
  { project_id }: { project_id: string },
  { leftovers, runs }: Pick<PartitionStore, "leftovers" | "runs">,
): Promise<boolean> {
  const entries = leftovers.list("links", LINKS);
  if (entries.length === 0) return true;
  const linked = entries.map((entry): LinkedIds => JSON.parse(entry));
  // Spares links of runs that were created again.
  const run_ids = linked.flatMap((ids) => ids.run_ids).filter((id) => runs.byId(id) === null);
  const trace_ids = [...new Set(linked.flatMap((ids) => ids.trace_ids))].filter(
    (id) => runs.ofTrace(id).length === 0,
  );
  const workspace_id = await workspaceOf(env, project_id);
  if (workspace_id !== null) {
    await deleteFeedbackTokens(env, workspace_id, run_ids);
    await deleteLinksOfTraces(env, workspace_id, { project_ids: [project_id], trace_ids });
  }
  leftovers.remove("links", entries);
  return entries.length < LINKS;
}

/** Deletes the tokens of at most `MAX_IDS` runs. */
async function deleteFeedbackTokens(
  env: Env,
  workspace_id: string,
  run_ids: string[],
): Promise<void> {
  const isOurs = eq(feedback_tokens.workspace_id, workspace_id);
  const db = database(env);
  if (run_ids.length === 0 || !(await hasSome(db, feedback_tokens, isOurs))) return;
  await db.delete(feedback_tokens).where(and(isOurs, among(feedback_tokens.run_id, run_ids)));
}

/** Deletes a bounded number of sealed files and copies of bodies. Idempotent. Returns false when some may remain. */
export async function removeSealed(env: Env, leftovers: Leftovers): Promise<boolean> {
  const files = leftovers.list("sealed", FILES);
  for (const file of files) await removeFile(env.ARTIFACTS, JSON.parse(file));
  leftovers.remove("sealed", files);
  return files.length < FILES;
}

/** Aborts the upload first: afterwards its writer cannot create the object. */
async function removeFile(bucket: R2Bucket, { key, upload_id }: SealedLeftover): Promise<void> {
  if (upload_id !== null) {
    try {
      await bucket.resumeMultipartUpload(key, upload_id).abort();
    } catch (error) {
      if (!String(error).includes(NO_UPLOAD)) throw error;
    }
  }
  await bucket.delete(key);
}

/** Deletes the objects of a deleted run. A run that was created again keeps those that it names, and newer ones. */
async function deleteObjects(
  env: Env,
  project_id: string,
  runs: PartitionStore["runs"],
  entry: string,
): Promise<void> {
  const { id, deleted_ms } = parseObjectsEntry(entry);
  const prefix = `${payloadPrefix(project_id)}${id}/`;
  let cursor: string | undefined;
  do {
    const page = await env.ARTIFACTS.list({ prefix, ...(cursor && { cursor }) });
    const named = keysOf(runs.byId(id)?.pointers ?? null);
    const left = page.objects.filter(
      ({ key, uploaded }) => uploaded.getTime() <= deleted_ms && !named.has(key),
    );
    if (left.length > 0) await env.ARTIFACTS.delete(left.map(({ key }) => key));
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
}

/**
 * Deletes a bounded number of locations. Saves the locations of runs that arrived during the deletion: they had found
 * the location of a deleted run. Idempotent. Returns false when some may remain.
 */
async function settleLocations(
  env: Env,
  { project_id, day }: Home,
  leftovers: Leftovers,
): Promise<boolean> {
  const toLocations = (entries: string[]) =>
    entries.map((entry) => ({ id: locatedId(entry), project_id, day }));
  const gone = leftovers.list("location", LOCATIONS);
  leftovers.beginUnlocating(gone);
  await withWorkspace(env, project_id, gone, (id) => deleteLocations(env, id, toLocations(gone)));
  leftovers.remove("location", gone);
  const back = leftovers.list("relocate", LOCATIONS);
  await withWorkspace(env, project_id, back, (id) => saveLocations(env, id, toLocations(back)));
  leftovers.remove("relocate", back);
  return Math.max(gone.length, back.length) < LOCATIONS;
}

async function withWorkspace(
  env: Env,
  project_id: string,
  entries: string[],
  work: (workspace_id: string) => Promise<void>,
): Promise<void> {
  const workspace_id = entries.length === 0 ? null : await workspaceOf(env, project_id);
  if (workspace_id !== null) await work(workspace_id);
}

/** @returns `null` when the project is deleted: its links and locations were deleted before */
async function workspaceOf(env: Env, project_id: string): Promise<string | null> {
  const [project] = await database(env)
    .select({ workspace_id: projects.workspace_id })
    .from(projects)
    .where(eq(projects.id, project_id));
  return project?.workspace_id ?? null;
}
