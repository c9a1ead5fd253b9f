import { and } from "drizzle-orm";
import type { z } from "zod";
import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { AppError, type Issue, invalid, issuesOf, notFound } from "../../shared/errors.ts";
import { among, inWorkspace } from "../../shared/storage/sql.ts";
import { toIssues } from "../../shared/validation.ts";
import { chunks, mapConcurrent } from "../../shared/work/chunks.ts";
import { dayOfId, findPartitions } from "../catalogue/catalogue.ts";
import { assertNotHeld, resolveProject } from "../catalogue/projects.ts";
import { partitions } from "../catalogue/table.ts";
import type { PartitionKey } from "../changes.ts";
import { type JsonObject, parseObject } from "../json.ts";
import { saveLocations } from "../locations/locations.ts";
import { openPartition } from "../object/slots.ts";
import { tracePartition } from "../object/stub.ts";
import { assertTraceRate } from "../rates.ts";
import type { FeedbackRow } from "../rows/rows.ts";
import { compareTexts } from "../segments/codec/uuids.ts";
import type { KeptFields } from "../storage/feedback.ts";
import { toFeedback, toRow } from "./feedback-row.ts";
import {
  type Feedback,
  FeedbackCreateRequest,
  type FeedbackQuery,
  type FeedbackUpdateRequest,
} from "./feedback-schema.ts";

const AT_ONCE = 20;
/** Maximum number of rows that one call reads: a row has up to 200,000 characters, and a message 32 MiB. */
const ROWS_PER_CALL = 20;

export async function createFeedback(
  ctx: Context,
  input: FeedbackCreateRequest,
): Promise<Feedback> {
  assertMay(ctx, "write");
  assertTraceRate(ctx, "feedback");
  const row = toRow(input, ["body"]);
  const known = await partitionsOfRuns(ctx, [row.run_id]);
  const partition = await partitionOf(ctx, row.run_id, input, known);
  const [kept] = await saveFeedback(ctx, [{ row, partition }]);
  return toFeedback({ ...row, ...kept }, partition);
}

export async function getFeedback(ctx: Context, feedback_id: string): Promise<Feedback> {
  assertMay(ctx, "read");
  assertTraceRate(ctx, "read");
  const { row, partition } = await findFeedback(ctx, feedback_id);
  return toFeedback(row, partition);
}

/** Changes the fields in the request, and keeps all others, also those that another request changes. */
export async function updateFeedback(
  ctx: Context,
  feedback_id: string,
  change: FeedbackUpdateRequest,
): Promise<Feedback> {
  assertMay(ctx, "write");
  assertTraceRate(ctx, "feedback");
  const { row, partition } = await findFeedback(ctx, feedback_id);
  const object = tracePartition(ctx.env, partition);
  for (let before: FeedbackRow | null = row; before !== null; ) {
    const changed = changedRow(before, change);
    if (await object.replaceFeedback(partition, before.body, changed)) {
      return toFeedback(changed, partition);
    }
    before = await object.getFeedback(feedback_id);
  }
  throw notFound("Feedback", feedback_id);
}

function changedRow(row: FeedbackRow, change: FeedbackUpdateRequest): FeedbackRow {
  const { created_at, run_id, id, source } = row;
  const sent = { ...parseObject(row.body), created_at };
  const fields = FeedbackCreateRequest.parse({ ...sent, ...change });
  return {
    ...toRow({ ...fields, run_id, id }, ["body"]),
    ...{ source, modified_at: new Date().toISOString() },
  };
}

export async function deleteFeedback(
  ctx: Context,
  feedback_id: string,
): Promise<{ message: string }> {
  assertMay(ctx, "write");
  assertTraceRate(ctx, "feedback");
  const { partition } = await findFeedback(ctx, feedback_id);
  await assertNotHeld(ctx, [partition.project_id]);
  await tracePartition(ctx.env, partition).deleteFeedback(partition, feedback_id);
  return { message: "Feedback deleted." };
}

async function findFeedback(ctx: Context, feedback_id: string) {
  const located = await findPartitions(ctx, [feedback_id]);
  const rows = await Promise.all(
    located.map(async ({ partition }) => {
      const row = await tracePartition(ctx.env, partition).getFeedback(feedback_id);
      return row ? [{ row, partition }] : [];
    }),
  );
  const [found] = rows.flat();
  if (!found) throw notFound("Feedback", feedback_id);
  return found;
}

/** Saves locations before rows: an id of feedback does not have the day of its run. */
async function saveFeedback(ctx: Context, items: PlacedFeedback[]): Promise<KeptFields[]> {
  await saveLocations(
    ctx.env,
    ctx.caller.workspace_id,
    items.map(({ row, partition: { project_id, day } }) => ({ id: row.id, project_id, day })),
  );
  const groups = Map.groupBy(items, ({ partition }) => Object.values(partition).join("/"));
  const kept: KeptFields[] = [];
  for (const [first, ...rest] of groups.values()) {
    if (!first) continue;
    const rows = [first, ...rest].map(({ row }) => row);
    const stored = await tracePartition(ctx.env, first.partition).putFeedback(
      first.partition,
      rows,
    );
    // An object of an earlier version returns nothing.
    kept.push(...(stored ?? []));
  }
  return kept;
}

type PlacedFeedback = { row: FeedbackRow; partition: PartitionKey };

/**
 * Stores feedback of a multipart body, after its runs.
 *
 * @returns the issues of the feedback that is not stored
 */
export async function createFeedbackBatch(
  ctx: Context,
  items: { id: string; body: JsonObject }[],
): Promise<Issue[]> {
  const [placed, issues]: [PlacedFeedback[], Issue[]] = [[], []];
  const read = items.map(({ id, body }) => ({
    loc: ["body", `feedback.${id}`],
    ...FeedbackCreateRequest.safeParse({ ...body, id }),
  }));
  const run_ids = read.flatMap(({ data }) => data?.run_id ?? data?.trace_id ?? []);
  const known = await partitionsOfRuns(ctx, run_ids);
  for (const { loc, data, error } of read) {
    try {
      if (error) throw unreadable(error, loc);
      const row = toRow(data, loc);
      const partition = await partitionOf(ctx, row.run_id, data, known);
      placed.push({ row, partition });
    } catch (failure) {
      issues.push(...issuesOf(failure, loc));
    }
  }
  await saveFeedback(ctx, placed);
  return issues;
}

function unreadable(error: z.ZodError, loc: string[]): AppError {
  return new AppError("invalid_request", error.message, { issues: toIssues(error, loc) });
}

type ListedFeedback = { id: string; created_at: string; partition: PartitionKey };

export async function listFeedback(ctx: Context, query: FeedbackQuery): Promise<Feedback[]> {
  assertMay(ctx, "read");
  assertTraceRate(ctx, "read");
  const { key: keys, source: sources, limit, offset } = query;
  const tests = {
    has_comment: query.has_comment ?? null,
    has_score: query.has_score ?? null,
    min_created_at: query.min_created_at ?? null,
    max_created_at: query.max_created_at ?? null,
  };
  const located = await partitionsOf(ctx, query);
  const wanted = limit + offset;
  let listed: ListedFeedback[] = [];
  await mapConcurrent(located, AT_ONCE, async ({ partition, ids: run_ids }) => {
    const all = { ...tests, run_ids, keys, sources, limit: wanted };
    const found = await tracePartition(ctx.env, partition).listFeedback(all);
    for (const position of found) listed.push({ ...position, partition });
    // A project may have thousands of partitions, so only positions that the page may need are kept.
    if (listed.length > 2 * wanted) listed = listed.sort(compareListed).slice(0, wanted);
  });
  const page = listed.sort(compareListed).slice(offset, wanted);
  const rows = await Promise.all(
    chunks(page, ROWS_PER_CALL).map((some) => readFeedback(ctx, some)),
  );
  return rows.flat();
}

/** Orders the newest first. */
function compareListed(a: ListedFeedback, b: ListedFeedback): number {
  return compareTexts(b.created_at, a.created_at) || compareTexts(a.id, b.id);
}

/** Reads rows in the order of their positions. Leaves out those that were deleted since. */
async function readFeedback(
  ctx: Context,
  positions: { id: string; partition: PartitionKey }[],
): Promise<Feedback[]> {
  const found = new Map<string, Feedback>();
  for (const [partition, here] of Map.groupBy(positions, (one) => one.partition)) {
    const ids = here.map(({ id }) => id);
    for (const row of await tracePartition(ctx.env, partition).getFeedbackRows(ids)) {
      found.set(row.id, toFeedback(row, partition));
    }
  }
  return positions.flatMap(({ id }) => found.get(id) ?? []);
}

async function partitionsOf(
  ctx: Context,
  { run, session }: FeedbackQuery,
): Promise<{ partition: PartitionKey; ids: string[] | null }[]> {
  for (const id of session ?? []) await resolveProject(ctx, id);
  if (run) {
    const located = await findPartitions(ctx, run);
    return located.filter(({ partition }) => session?.includes(partition.project_id) ?? true);
  }
  if (!session) throw invalid(["query", "run"], "required: run or session");
  const rows = await ctx.db
    .select({ project_id: partitions.project_id, day: partitions.day, slot: partitions.slot })
    .from(partitions)
    .where(and(inWorkspace(ctx, partitions), among(partitions.project_id, session)));
  return rows.map((partition) => ({ partition, ids: null }));
}

/** Returns the partition of each run that is stored. */
async function partitionsOfRuns(
  ctx: Context,
  run_ids: string[],
): Promise<Map<string, PartitionKey>> {
  const known = new Map<string, PartitionKey>();
  const located = await findPartitions(ctx, [...new Set(run_ids)]);
  await mapConcurrent(located, AT_ONCE, async ({ partition, ids }) => {
    for (const id of await tracePartition(ctx.env, partition).hasRuns(ids)) {
      known.set(id, partition);
    }
  });
  return known;
}

/**
 * Returns the partition of the run. For a run that is not stored, takes the partition of its trace on the day of its id.
 * Without a trace, takes the run for a root.
 * @throws AppError 404 for a run that is not stored, without a project or with an id that has no time
 */
async function partitionOf(
  ctx: Context,
  run_id: string,
  { session_id, trace_id }: FeedbackCreateRequest,
  known: Map<string, PartitionKey>,
): Promise<PartitionKey> {
  const partition = known.get(run_id);
  if (partition !== undefined) return partition;
  const day = dayOfId(run_id);
  if (session_id == null || day === null) throw notFound("Run", run_id);
  const home = { project_id: await resolveProject(ctx, session_id), day };
  return openPartition(ctx, home, trace_id ?? run_id);
}
