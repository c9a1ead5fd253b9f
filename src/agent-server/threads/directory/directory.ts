import type { Context } from "../../../shared/context.ts";
import { ROOT } from "../../../shared/storage/slots.ts";
import { knownGeneration, learnGeneration } from "../contract/directory-slots.ts";
import { JsonRoom, type JsonSize } from "../contract/json-text.ts";
import type { StatusCounts } from "./counts.ts";
import { firstPage, mergePages, type SlotRow } from "./pages.ts";
import { flushEntries } from "./publication.ts";
import type { DirectoryFilter, DirectoryQuery } from "./search.ts";
import { directoryObject, readDirectory, visitDirectory } from "./stub.ts";

type DeploymentRef = { deployment_id: string };
export type ListedThread = DeploymentRef & { thread_id: string; slot: number };
type Reader = { env: Env; deployment_id: string; workspace_id: string };

/** Returns threads for an internal job, object by object. The order of the query holds within each object only. */
export async function someThreadsOf(
  env: Env,
  deployment_id: string,
  query: DirectoryQuery,
): Promise<ListedThread[]> {
  await flushEntries(env);
  const found: ListedThread[] = [];
  await visitDirectory(env, deployment_id, async (directory, slot) => {
    const limit = query.limit - found.length;
    const { rows, generation } = await directory.find(null, { ...query, limit });
    found.push(...rows.map(({ thread_id }) => ({ deployment_id, thread_id, slot })));
    return { generation, isEnough: found.length >= query.limit };
  });
  return found;
}

/**
 * Returns up to `query.limit` + 1 matching threads: the last one shows that a next page exists.
 * @returns `null` when their metadata, all of which is parsed, exceeds `max_size`
 */
export async function findThreads(
  ctx: Context,
  { deployment_id }: DeploymentRef,
  query: DirectoryQuery,
  max_size: JsonSize,
) {
  await flushEntries(ctx.env);
  const reader = { env: ctx.env, deployment_id, workspace_id: ctx.caller.workspace_id };
  const page = { ...query, limit: query.limit + 1 };
  const found =
    (await findInRoot(reader, page, max_size)) ?? (await findInAll(reader, page, max_size));
  return found === "too_large" ? null : found.map(toThread);
}

/** @returns `null` when the directory has more objects */
async function findInRoot(reader: Reader, query: DirectoryQuery, max_size: JsonSize) {
  const { deployment_id } = reader;
  if (knownGeneration(deployment_id) > 0) return null;
  const found = await findInSlot(reader, ROOT, query, max_size);
  return knownGeneration(deployment_id) > 0 ? null : found;
}

/** Reads until no answer is cut: an object returns only the rows that fit into one RPC message. */
async function findInSlot(
  { env, deployment_id, workspace_id }: Reader,
  slot: number,
  { limit, offset = 0, ...query }: DirectoryQuery,
  max_size: JsonSize,
): Promise<SlotRow[] | "too_large"> {
  const found: SlotRow[] = [];
  const room = new JsonRoom(max_size);
  for (let isCut = true; isCut; ) {
    const page = await directoryObject(env, deployment_id, slot).find(workspace_id, {
      ...query,
      limit: limit - found.length,
      offset: offset + found.length,
    });
    learnGeneration(deployment_id, page.generation);
    found.push(...page.rows.map((row) => ({ ...row, slot })));
    if (!room.take(...metadataOf(page.rows))) return "too_large";
    isCut = page.isCut;
  }
  return found;
}

/** Merges the rows of all objects without metadata, and then reads the metadata of the rows of the page. */
async function findInAll(reader: Reader, query: DirectoryQuery, max_size: JsonSize) {
  const { env, deployment_id, workspace_id } = reader;
  const pages = await readDirectory(env, deployment_id, async (directory, slot) => {
    const page = await directory.find(workspace_id, firstPage(query));
    return { ...page, slot };
  });
  const found = await mergePages(pages, query, async (slot, next) => {
    const page = await directoryObject(env, deployment_id, slot).find(workspace_id, next);
    return { ...page, slot };
  });
  return query.with_metadata ? withMetadata(reader, query, found, max_size) : found;
}

async function withMetadata(
  reader: Reader,
  { filters = null }: DirectoryQuery,
  found: SlotRow[],
  max_size: JsonSize,
): Promise<SlotRow[] | "too_large"> {
  const texts = new Map<string, string | null>();
  const room = new JsonRoom(max_size);
  for (const [slot, rows] of Map.groupBy(found, (row) => row.slot)) {
    const ids = rows.map(({ thread_id }) => thread_id);
    const query = { ids, filters, with_metadata: true, limit: ids.length };
    const read = await findInSlot(reader, slot, query, room.left);
    if (read === "too_large") return read;
    room.take(...metadataOf(read));
    for (const { thread_id, metadata } of read) texts.set(thread_id, metadata);
  }
  // Leaves out threads that were deleted, or hidden by the filters, since the first read.
  return found.flatMap((row) => {
    const metadata = texts.get(row.thread_id);
    return metadata === undefined ? [] : [{ ...row, metadata }];
  });
}

function metadataOf(rows: readonly { metadata: string | null }[]): string[] {
  return rows.flatMap(({ metadata }) => metadata ?? []);
}

function toThread({ id: _i, slot: _s, metadata, ...row }: SlotRow) {
  return { ...row, metadata: JSON.parse(metadata ?? "{}") as Record<string, unknown> };
}

export async function countByStatus(
  ctx: Context,
  { deployment_id }: DeploymentRef,
  filter: DirectoryFilter,
): Promise<StatusCounts> {
  await flushEntries(ctx.env);
  const { workspace_id } = ctx.caller;
  const parts = await readDirectory(ctx.env, deployment_id, (directory) =>
    directory.count(workspace_id, filter),
  );
  const sum = { idle: 0, busy: 0, interrupted: 0, error: 0 };
  for (const counts of parts)
    for (const status of Object.keys(sum) as (keyof StatusCounts)[]) sum[status] += counts[status];
  return sum;
}
