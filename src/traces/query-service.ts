import { assertMay } from "../shared/auth.ts";
import type { Context } from "../shared/context.ts";
import { invalid } from "../shared/errors.ts";
import { candidates } from "./catalogue.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { type FarMatches, type Filters, matchFarTraces } from "./far-traces.ts";
import { findCandidates } from "./filter/candidates.ts";
import { compileFilter } from "./filter/compile.ts";
import { parseFilter } from "./filter/parse.ts";
import type { Filter } from "./filter/tree.ts";
import type { JsonObject } from "./json.ts";
import type { Place, ReadRuns } from "./object.ts";
import { RunsPage, type RunsQueryRequest } from "./query-schema.ts";
import { assertRate } from "./rate-limit.ts";
import { placesInScope, type RangedPlace } from "./scope.ts";
import type { RunsQuery } from "./storage/query.ts";
import type { Columns } from "./storage/reads.ts";
import type { RunRow } from "./storage/rows.ts";
import { tracePartition } from "./stub.ts";
import { RUN_COLUMNS, toRun } from "./to-run.ts";

type Found = { place: Place; row: RunRow; read: ReadRuns };
/** All but what differs from partition to partition. */
type Plan = Omit<RunsQuery, keyof Filters | "trace_matches" | "tree_matches" | "candidates"> & {
  filters: Filters;
};

export type Page = { runs: JsonObject[]; next: string | null };

/** SQLite binds 100 values to a statement; the rest of a query needs some of them. */
const MAX_VALUES = 90;
const PAYLOADS = new Set<string>(["inputs", "outputs", "extra", "events", "serialized"]);

export async function queryRuns(ctx: Context, input: RunsQueryRequest): Promise<RunsPage> {
  const { runs, next } = await findPage(ctx, input);
  return RunsPage.parse({
    runs,
    cursors: { next, prev: null },
    search_cursors: null,
    parsed_query: null,
  });
}

export async function findPage(ctx: Context, input: RunsQueryRequest): Promise<Page> {
  assertMay(ctx, "read");
  assertRate(ctx, "read");
  const select = input.select ?? null;
  if (input.id) {
    const found = await findByIds(ctx, input.id, columnsOf(select));
    return { runs: await toRuns(ctx, found, select), next: null };
  }
  const plan = toPlan(input);
  const groups = await placesInScope(
    ctx,
    {
      session: input.session ?? null,
      trace: plan.trace_id,
      parent_run: plan.parent_run_id,
      reference_example: plan.reference_example_ids,
      min_start_us: plan.min_start_us,
      max_start_us: plan.max_start_us,
    },
    plan.order,
  );
  const { found, seq } = await collect(ctx, groups, { ...plan, limit: input.limit + 1 });
  const page = found.slice(0, input.limit);
  const last = page.at(-1);
  const next =
    last && found.length > input.limit
      ? writeCursor({ start_us: last.row.start_us, id: last.row.id, max_seq: plan.max_seq ?? seq })
      : null;
  return { runs: await toRuns(ctx, page, select), next };
}

async function collect(
  ctx: Context,
  groups: RangedPlace[][],
  plan: Plan,
): Promise<{ found: Found[]; seq: number }> {
  let found: Found[] = [];
  let seq = Date.now() * 1000;
  for (const group of groups) {
    if (found.length >= plan.limit) break;
    if (isPassed(group, plan)) continue;
    const far = await matchFarTraces(ctx, group, plan.filters);
    const answers = await Promise.all(
      group.map(async ({ place }) => {
        const read = await tracePartition(ctx.env, place).findRuns(toQuery(plan, place, far));
        seq = Math.max(seq, read.seq);
        return read.runs.map((row) => ({ place, row, read }));
      }),
    );
    const sign = plan.order === "asc" ? 1 : -1;
    found = [...found, ...answers.flat().sort((a, b) => sign * compare(a.row, b.row))];
  }
  return { found: found.slice(0, plan.limit), seq };
}

/** The page before ended beyond it. */
function isPassed(group: RangedPlace[], { after, order }: Plan): boolean {
  if (after === null) return false;
  return order === "asc"
    ? group.every(({ to_us }) => to_us < after.start_us)
    : group.every(({ from_us }) => from_us > after.start_us);
}

function compare(a: RunRow, b: RunRow): number {
  if (a.start_us !== b.start_us) return a.start_us - b.start_us;
  return a.id < b.id ? -1 : 1;
}

function toPlan(input: RunsQueryRequest): Plan {
  const cursor = input.cursor ? readCursor(input.cursor) : null;
  return {
    columns: columnsOf(input.select ?? null),
    order: input.order ?? "desc",
    limit: input.limit,
    after: cursor,
    max_seq: cursor?.max_seq ?? null,
    filters: readFilters(input),
    ...toTests(input),
  };
}

function toTests(input: RunsQueryRequest) {
  const { start_time, end_time, is_root, error, reference_example } = input;
  return {
    min_start_us: start_time ?? null,
    max_start_us: end_time ?? null,
    is_root: is_root ?? null,
    has_error: error ?? null,
    run_type: input.run_type ?? null,
    trace_id: input.trace ?? null,
    parent_run_id: input.parent_run ?? null,
    execution_order: input.execution_order ?? null,
    reference_example_ids: reference_example ?? null,
  };
}

function readFilters(input: RunsQueryRequest): Filters {
  const read = (name: keyof Filters) => {
    const text = input[name];
    return text == null || text.trim() === "" ? null : parseFilter(text, name);
  };
  const filters = {
    filter: read("filter"),
    trace_filter: read("trace_filter"),
    tree_filter: read("tree_filter"),
  };
  const values = Object.values(filters).reduce((sum, filter) => {
    return sum + (filter ? compileFilter(filter, { session_id: "" }).params.length : 0);
  }, 0);
  if (values <= MAX_VALUES) return filters;
  const text = `the filters together compare with ${values} values and ${MAX_VALUES} are allowed; in(field, [...]) counts as one`;
  throw invalid(["body", "filter"], text);
}

function toQuery({ filters, ...plan }: Plan, { project_id }: Place, far: FarMatches): RunsQuery {
  const compiled = (filter: Filter | null) =>
    filter && compileFilter(filter, { session_id: project_id });
  return {
    ...plan,
    trace_matches: far.trace,
    tree_matches: far.tree,
    filter: compiled(filters.filter),
    trace_filter: compiled(filters.trace_filter),
    tree_filter: compiled(filters.tree_filter),
    candidates: filters.filter ? findCandidates(filters.filter) : [],
  };
}

async function findByIds(ctx: Context, ids: string[], columns: Columns): Promise<Found[]> {
  const asked = await candidates(ctx, ids);
  const answers = await Promise.all(
    asked.map(async ({ place, ids: here }) => {
      const read = await tracePartition(ctx.env, place).getRuns(here, columns);
      return read.runs.map((row) => ({ place, row, read }));
    }),
  );
  return answers.flat();
}

function columnsOf(select: string[] | null): Columns {
  if (select === null) return RUN_COLUMNS;
  return RUN_COLUMNS.filter((column) => !PAYLOADS.has(column) || select.includes(column));
}

async function toRuns(ctx: Context, found: Found[], select: string[] | null) {
  const wanted = select === null ? null : new Set([...select, "id"]);
  const runs = found.map(async ({ place, row, read }) => {
    const run = await toRun(ctx.env, place, row, read, wanted);
    if (wanted === null) return run;
    return Object.fromEntries(Object.entries(run).filter(([name]) => wanted.has(name)));
  });
  return Promise.all(runs);
}
