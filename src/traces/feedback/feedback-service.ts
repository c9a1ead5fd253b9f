import { and, eq } from "drizzle-orm";
import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { AppError, invalid, notFound } from "../../shared/errors.ts";
import { isRecord } from "../../shared/guards.ts";
import { assertRate } from "../../shared/http/rate-limit.ts";
import { newId } from "../../shared/storage/ids.ts";
import { among } from "../../shared/storage/sql.ts";
import { type JsonObject, parseObject } from "../json.ts";
import { MAX_FEEDBACK_BYTES } from "../limits.ts";
import { candidates, dayOfId, openSlot, saveLocations } from "../object/catalogue.ts";
import type { Place } from "../object/object.ts";
import { knownProject } from "../object/projects.ts";
import { tracePartition } from "../object/stub.ts";
import { partitions } from "../object/table.ts";
import type { FeedbackRow } from "../reads/rows.ts";
import {
  Feedback,
  FeedbackCreateRequest,
  type FeedbackQuery,
  type FeedbackUpdateRequest,
} from "./feedback-schema.ts";

export async function createFeedback(
  ctx: Context,
  input: FeedbackCreateRequest,
): Promise<Feedback> {
  assertMay(ctx, "write");
  assertRate(ctx, "feedback");
  const row = toRow(input, ["body"]);
  const place = await placeOf(ctx, row.run_id, input.session_id ?? null);
  await keep(ctx, [{ row, place }]);
  return toFeedback(row, place);
}

export async function getFeedback(ctx: Context, feedback_id: string): Promise<Feedback> {
  assertMay(ctx, "read");
  assertRate(ctx, "read");
  const { row, place } = await findFeedback(ctx, feedback_id);
  return toFeedback(row, place);
}

/** Keeps fields that the request omits. */
export async function updateFeedback(
  ctx: Context,
  feedback_id: string,
  change: FeedbackUpdateRequest,
): Promise<Feedback> {
  assertMay(ctx, "write");
  assertRate(ctx, "feedback");
  const { row, place } = await findFeedback(ctx, feedback_id);
  const said = FeedbackCreateRequest.parse({ ...parseObject(row.body), ...change });
  const { created_at, run_id, id, source } = row;
  const changed = {
    ...toRow({ ...said, run_id, id }, ["body"]),
    ...{ created_at, source, modified_at: new Date().toISOString() },
  };
  await tracePartition(ctx.env, place).putFeedback(place, [changed]);
  return toFeedback(changed, place);
}

export async function deleteFeedback(
  ctx: Context,
  feedback_id: string,
): Promise<{ message: string }> {
  assertMay(ctx, "write");
  assertRate(ctx, "feedback");
  const { place } = await findFeedback(ctx, feedback_id);
  await tracePartition(ctx.env, place).deleteFeedback(place, feedback_id);
  return { message: "Feedback deleted." };
}

async function findFeedback(ctx: Context, feedback_id: string) {
  const asked = await candidates(ctx, [feedback_id]);
  const rows = await Promise.all(
    asked.map(async ({ place }) => {
      const row = await tracePartition(ctx.env, place).getFeedback(feedback_id);
      return row ? [{ row, place }] : [];
    }),
  );
  const [found] = rows.flat();
  if (!found) throw notFound("Feedback", feedback_id);
  return found;
}

/** Saves locations before rows: ids of feedback do not contain the day of the run. */
async function keep(ctx: Context, items: { row: FeedbackRow; place: Place }[]): Promise<void> {
  await saveLocations(
    ctx,
    items.map(({ row, place: { project_id, day } }) => ({ run_id: row.id, project_id, day })),
  );
  const groups = Map.groupBy(items, ({ place }) => Object.values(place).join("/"));
  for (const [first, ...rest] of groups.values()) {
    if (!first) continue;
    const rows = [first, ...rest].map(({ row }) => row);
    await tracePartition(ctx.env, first.place).putFeedback(first.place, rows);
  }
}

/** Stores feedback of a multipart body, after its runs. */
export async function keepFeedback(
  ctx: Context,
  items: { id: string; body: JsonObject }[],
): Promise<void> {
  const kept: { row: FeedbackRow; place: Place }[] = [];
  for (const { id, body } of items) {
    const parsed = FeedbackCreateRequest.safeParse({ ...body, id });
    if (!parsed.success) {
      const text = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
      throw invalid(["body", `feedback.${id}`], text.join("; "));
    }
    const row = toRow(parsed.data, ["body", `feedback.${id}`]);
    kept.push({ row, place: await placeOf(ctx, row.run_id, parsed.data.session_id ?? null) });
  }
  await keep(ctx, kept);
}

export async function listFeedback(ctx: Context, query: FeedbackQuery): Promise<Feedback[]> {
  assertMay(ctx, "read");
  assertRate(ctx, "read");
  const { key: keys, source: sources, limit, offset } = query;
  const tests = {
    has_comment: query.has_comment ?? null,
    has_score: query.has_score ?? null,
    min_created_at: query.min_created_at ?? null,
    max_created_at: query.max_created_at ?? null,
  };
  const asked = await placesOf(ctx, query);
  const lists = await Promise.all(
    asked.map(async ({ place, ids: run_ids }) => {
      const all = { ...tests, run_ids, keys, sources, limit: limit + offset };
      const rows = await tracePartition(ctx.env, place).listFeedback(all);
      return rows.map((row) => toFeedback(row, place));
    }),
  );
  return lists
    .flat()
    .sort((a, b) => (a.created_at < b.created_at ? 1 : -1))
    .slice(offset, offset + limit);
}

async function placesOf(
  ctx: Context,
  { run, session }: FeedbackQuery,
): Promise<{ place: Place; ids: string[] | null }[]> {
  if (run) return candidates(ctx, run);
  if (!session) throw invalid(["query", "run"], "name runs (run=) or projects (session=)");
  for (const id of session) await knownProject(ctx, id);
  const rows = await ctx.db
    .select({ project_id: partitions.project_id, day: partitions.day, slot: partitions.slot })
    .from(partitions)
    .where(
      and(
        eq(partitions.workspace_id, ctx.caller.workspace_id),
        among(partitions.project_id, session),
      ),
    );
  return rows.map((place) => ({ place, ids: null }));
}

/** Returns the partition of the run, or the one where a run that has not arrived belongs. */
async function placeOf(ctx: Context, run_id: string, session_id: string | null): Promise<Place> {
  for (const { place, ids } of await candidates(ctx, [run_id])) {
    const [found] = await tracePartition(ctx.env, place).hasRuns(ids);
    if (found !== undefined) return place;
  }
  const day = dayOfId(run_id);
  if (session_id === null || day === null) throw notFound("Run", run_id);
  const home = { project_id: await knownProject(ctx, session_id), day };
  return { ...home, slot: await openSlot(ctx, home) };
}

function toRow(input: FeedbackCreateRequest, loc: string[]): FeedbackRow {
  const run_id = input.run_id ?? input.trace_id;
  if (!run_id) throw invalid([...loc, "run_id"], "is missing: feedback is kept with a run");
  const body = JSON.stringify(input);
  if (body.length > MAX_FEEDBACK_BYTES) {
    throw new AppError("too_large", `Feedback may have at most ${MAX_FEEDBACK_BYTES} bytes.`);
  }
  const { id, key, score, value, comment, feedback_source } = input;
  return {
    id: id ?? newId(),
    run_id,
    key,
    score: typeof score === "boolean" ? Number(score) : (score ?? null),
    value: toText(value),
    source: feedback_source?.type ?? "api",
    comment: comment ?? null,
    body,
    created_at: new Date().toISOString(),
    modified_at: null,
  };
}

function toText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function toFeedback(row: FeedbackRow, { project_id }: Place): Feedback {
  const body: unknown = JSON.parse(row.body);
  const said = isRecord(body) ? body : {};
  return Feedback.parse({
    ...row,
    trace_id: said.trace_id ?? null,
    session_id: project_id,
    score: said.score ?? null,
    value: said.value ?? null,
    correction: said.correction ?? null,
    feedback_source: said.feedback_source ?? { type: row.source },
    modified_at: row.modified_at ?? row.created_at,
  });
}
