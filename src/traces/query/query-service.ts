import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { DAY_US, nowMicros, toIso } from "../../shared/times.ts";
import { findPartitions } from "../catalogue/catalogue.ts";
import type { PartitionKey } from "../changes.ts";
import type { JsonObject } from "../json.ts";
import { smallColumns, withLargeColumns } from "../object/large-columns.ts";
import { tracePartition } from "../object/stub.ts";
import { assertReadRate } from "../rates.ts";
import type { ReadRuns } from "../reads/run-pages.ts";
import { admitPayloads } from "../rows/payload-admission.ts";
import type { Columns, Position, TraceRunRow } from "../rows/rows.ts";
import { findTracesBelow, placedBelow, type TraceBelow } from "../trees/called-traces.ts";
import { type RunMatch, searchPartitions } from "./page-search.ts";
import { type Cursor, type QueryPlan, scopeOf, toPlan, writeCursor } from "./query-plan.ts";
import { RunsPage, type RunsQueryRequest } from "./query-schema.ts";
import { type PartitionRange, partitionsInScope } from "./scope.ts";
import { toRun } from "./to-run.ts";

export type FoundRuns = { runs: JsonObject[]; next: string | null };

/** Fields that LangSmith's clients require in each run. */
const REQUIRED = ["id", "name", "run_type", "start_time", "trace_id"];

/** Returns a page of runs in the form of LangSmith's API. @throws AppError 422 for filters that are not valid */
export async function queryRuns(ctx: Context, input: RunsQueryRequest): Promise<RunsPage> {
  const select = input.select && [...input.select, ...REQUIRED];
  const { runs, next } = await findPage(ctx, { ...input, select });
  return RunsPage.parse({
    runs,
    cursors: { next, prev: null },
    search_cursors: null,
    parsed_query: null,
  });
}

/** Whether a query counts as one of at most a week. Runs that are named by id are on few days. */
function isWithinWeek({ id, start_time, end_time }: RunsQueryRequest): boolean {
  return id != null || (start_time != null && (end_time ?? nowMicros()) - start_time <= 7 * DAY_US);
}

/** Returns a page of runs, which may have fewer than `limit`: a search can stop early, and a response has a limit. */
export async function findPage(ctx: Context, input: RunsQueryRequest): Promise<FoundRuns> {
  assertMay(ctx, "read");
  assertReadRate(ctx, isWithinWeek(input) ? "query_week" : "query_longer");
  const select = input.select ?? null;
  // In the calling trace, the root of a called trace is not a root: a query of roots needs no called traces.
  const below =
    input.trace && input.is_root !== true ? await findTracesBelow(ctx, input.trace) : [];
  const plan = withTraces(toPlan(input), below);
  const groups = await partitionsInScope(ctx, scopeOf(plan, input.session ?? null), plan.order);
  let { page, end } = await readPage(ctx, groups, plan);
  // All rows of an empty page were deleted since the search.
  while (page.length === 0 && end !== null) {
    ({ page, end } = await readPage(ctx, groups, { ...plan, after: end, max_seq: end.max_seq }));
  }
  const next = end && writeCursor(end);
  return { runs: await toPageRuns(ctx, placedBelow(page, below), select, next), next };
}

/**
 * Reads a page, and where the next one begins.
 * @throws AppError 413 for a search that stopped without a run, because SDKs take an empty page for the last one. Also
 * for runs named by id that do not fit a response
 */
async function readPage(
  ctx: Context,
  groups: PartitionRange[][],
  plan: QueryPlan,
): Promise<{ page: RunMatch[]; end: Cursor | null }> {
  // Searches for one row more, which shows whether a next page exists. Large columns are read only for the page itself.
  const withoutLarge = { ...plan, columns: smallColumns(plan.columns), limit: plan.limit + 1 };
  const { found, seq, stopped } = await searchPartitions(ctx, groups, withoutLarge);
  const endAt = ({ start_us, id }: Position) => ({ start_us, id, max_seq: plan.max_seq ?? seq });
  if (found.length === 0 && stopped !== null) throw stoppedSearch(endAt(stopped));
  const wanted = found.slice(0, plan.limit);
  const { page, isCut } = await withLargeColumns(ctx.env, wanted, plan.columns);
  if (plan.ids && isCut) throw tooLarge();
  // The next page begins after the last row of this one, or where the search has stopped.
  const last = found.length > page.length ? lastRow(page, wanted) : stopped;
  return { page, end: last && endAt(last) };
}

function stoppedSearch(end: Cursor): AppError {
  const text = `The search has found no run up to ${toIso(end.start_us)}, where it reached its limit: narrow its range of time or its filter, or continue it with the cursor ${writeCursor(end)}`;
  return new AppError("too_large", text);
}

function lastRow(page: RunMatch[], wanted: RunMatch[]): TraceRunRow | null {
  return (page.at(-1) ?? wanted.at(-1))?.row ?? null;
}

function withTraces(plan: QueryPlan, below: TraceBelow[]): QueryPlan {
  const ids = below.map(({ trace_id }) => trace_id);
  return plan.trace_ids ? { ...plan, trace_ids: [...plan.trace_ids, ...ids] } : plan;
}

/** Returns runs by id, in any order. @throws AppError 413 when they do not fit a response */
export async function findByIds(
  ctx: Context,
  ids: string[],
  columns: Columns,
): Promise<RunMatch[]> {
  const located = await findPartitions(ctx, ids);
  const answers = await Promise.all(
    located.map(async ({ partition, ids: here }) => {
      const read = await tracePartition(ctx.env, partition).getRuns(here, smallColumns(columns));
      if (read.read < here.length) throw tooLarge();
      return read.runs.map((row) => ({ partition, row, read }));
    }),
  );
  const found = answers.flat();
  const { page, isCut } = await withLargeColumns(ctx.env, found, columns);
  if (isCut) throw tooLarge();
  return page;
}

function tooLarge(): AppError {
  const text = "The runs are too large for one answer: name fewer ids, or fewer fields in select.";
  return new AppError("too_large", text);
}

/** Row of a page, with the feedback of its partition's answer. */
type PageRow = {
  partition: PartitionKey;
  row: TraceRunRow;
  read: Pick<ReadRuns, "feedback" | "values">;
};

/**
 * Converts the rows of a page.
 * @throws AppError 413 for payloads larger than a response. Its text has the cursor of the next page, if any
 */
export async function toPageRuns(
  ctx: Context,
  found: PageRow[],
  select: string[] | null,
  next: string | null,
) {
  try {
    return await toRuns(ctx, found, select);
  } catch (error) {
    throw next === null ? error : withCursor(error, next);
  }
}

function withCursor(error: unknown, next: string): unknown {
  const { code, message } = AppError.from(error);
  if (code !== "too_large") return error;
  const text = `${message} To continue with the runs after it, send the cursor ${next}`;
  return new AppError(code, text, { cause: error });
}

/** Converts rows to their wire form, with the selected fields. @throws AppError 413 for payloads larger than a response */
export async function toRuns(ctx: Context, found: PageRow[], select: string[] | null) {
  const wanted = select === null ? null : new Set([...select, "id"]);
  const convert = async ({ partition, row, read }: PageRow) => {
    const run = await toRun(ctx, partition, row, read, wanted);
    if (wanted === null) return run;
    return Object.fromEntries(Object.entries(run).filter(([name]) => wanted.has(name)));
  };
  const rows = found.map(({ row }) => row);
  return admitPayloads(rows, wanted, () => Promise.all(found.map(convert)));
}
