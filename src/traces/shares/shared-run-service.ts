import { type Context, jobContext } from "../../shared/context.ts";
import { AppError, notFound } from "../../shared/errors.ts";
import { DAY_US } from "../../shared/times.ts";
import { findSharedTrace, type SharedTrace } from "../links/share-links.ts";
import type { RunMatch } from "../query/page-search.ts";
import { columnsOf } from "../query/query-plan.ts";
import { findByIds, findPage, toRuns } from "../query/query-service.ts";
import { toItem, toSelect } from "../query/query-v2.ts";
import { findRun } from "../query/run-service.ts";
import { assertTraceRate } from "../rates.ts";
import { findTracesBelow, placedBelow, type TraceBelow } from "../trees/called-traces.ts";
import {
  SHARED_FIELDS,
  SharedRun,
  SharedRunsPage,
  type SharedRunsRequest,
  type SharedRunsV2Request,
} from "./share-schema.ts";

type OpenShare = { ctx: Context; trace: SharedTrace };

const PAGE_RUNS = 100;
const PAGE_RUNS_V2 = 1000;

/** Opens a shared trace. All links of a workspace share one limit of reads, apart from those of its API keys. */
export async function openShare(env: Env, token: string): Promise<OpenShare> {
  const trace = await findSharedTrace(env, token);
  if (trace === null) {
    const text = "The link does not exist: it was revoked, or its trace was deleted.";
    throw new AppError("not_found", text);
  }
  const ctx = jobContext(env, trace.workspace_id, "shared_trace");
  assertTraceRate(ctx, "read");
  return { ctx, trace };
}

/** Returns a run of the shared trace, by default its root. */
export async function getSharedRun(env: Env, token: string, run_id?: string): Promise<SharedRun> {
  return SharedRun.parse(await readRun(await openShare(env, token), run_id));
}

async function readRun(opened: OpenShare, run_id = opened.trace.trace_id) {
  const { ctx } = opened;
  const located = await findRun(ctx, run_id, columnsOf(SHARED_FIELDS));
  const { row, partition } = located;
  const found = [{ row, partition, read: located }];
  const shared = sharedOf(opened, await findCalled(opened, found), found);
  if (shared.length === 0) throw notFound("Run", run_id);
  const [run = {}] = await toRuns(ctx, shared, SHARED_FIELDS);
  return run;
}

/**
 * Returns the runs in the order of the ids. Reads them together, so that the limit of an answer holds for all of them.
 */
async function readRuns(opened: OpenShare, ids: readonly string[]) {
  const { ctx } = opened;
  const unique = [...new Set(ids)];
  const outlines = await findByIds(ctx, unique, ["id", "trace_id"]);
  const below = await findCalled(opened, outlines);
  const shared = new Set(sharedOf(opened, below, outlines).map(({ row }) => row.id));
  const other = unique.find((id) => !shared.has(id));
  if (other !== undefined) throw notFound("Run", other);
  const found = await findByIds(ctx, unique, columnsOf(SHARED_FIELDS));
  found.sort((a, b) => unique.indexOf(a.row.id) - unique.indexOf(b.row.id));
  return toRuns(ctx, sharedOf(opened, below, found), SHARED_FIELDS);
}

/** Returns the traces that the shared one has called. Reads them only if a run is not of the shared trace. */
async function findCalled({ ctx, trace }: OpenShare, runs: RunMatch[]): Promise<TraceBelow[]> {
  const isOwn = runs.every(({ row }) => row.trace_id === trace.trace_id);
  return isOwn ? [] : findTracesBelow(ctx, trace.trace_id);
}

/** Returns the runs of the shared trace, and those of the called traces in its project. */
function sharedOf({ trace }: OpenShare, below: TraceBelow[], all: RunMatch[]): RunMatch[] {
  const traces = new Set([trace.trace_id, ...below.map(({ trace_id }) => trace_id)]);
  const shared = all.filter(
    ({ row, partition }) => partition.project_id === trace.project_id && traces.has(row.trace_id),
  );
  return placedBelow(shared, below);
}

export async function querySharedRuns(
  env: Env,
  token: string,
  { id, cursor, limit }: SharedRunsRequest,
): Promise<SharedRunsPage> {
  const opened = await openShare(env, token);
  const { runs, next } = id
    ? { runs: await readRuns(opened, id), next: null }
    : await findRuns(opened, { cursor, limit: limit ?? PAGE_RUNS, select: SHARED_FIELDS });
  return SharedRunsPage.parse({ runs, cursors: { next } });
}

/** Omits inputs and outputs, which `getSharedRunV2` returns: a page has up to 1000 runs. */
export async function querySharedRunsV2(
  env: Env,
  token: string,
  { selects, cursor }: SharedRunsV2Request,
) {
  const select = toSharedSelect(selects ?? ["ID"]).filter(
    (name) => name !== "inputs" && name !== "outputs",
  );
  const opened = await openShare(env, token);
  const { runs, next } = await findRuns(opened, { cursor, limit: PAGE_RUNS_V2, select });
  return { items: runs.map(toItem), has_more: next !== null, next_cursor: next };
}

export async function getSharedRunV2(env: Env, token: string, run_id: string, selects?: string[]) {
  const run = await getSharedRun(env, token, run_id);
  const wanted = selects ? new Set(["id", ...toSharedSelect(selects)]) : null;
  const fields = Object.entries(run).filter(([name]) => wanted === null || wanted.has(name));
  return toItem(Object.fromEntries(fields));
}

function toSharedSelect(selects: string[]): string[] {
  return toSelect(selects).filter((name) => SHARED_FIELDS.includes(name));
}

type Page = { cursor: string | null | undefined; limit: number; select: string[] };

/** Searches from a day before the root's start to a day after its end, or to now: a project may have years. */
async function findRuns({ ctx, trace }: OpenShare, page: Page) {
  const { row } = await findRun(ctx, trace.trace_id, ["id", "start_us", "end_us"]);
  return findPage(ctx, {
    ...page,
    session: [trace.project_id],
    trace: trace.trace_id,
    start_time: row.start_us - DAY_US,
    end_time: row.end_us === null ? null : row.end_us + DAY_US,
    order: "asc",
  });
}
