import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { assertReadRate } from "../../shared/http/rate-limit.ts";
import { DAY_US, nowMicros } from "../../shared/times.ts";
import type { JsonObject } from "../json.ts";
import { candidates } from "../object/catalogue.ts";
import type { Place, ReadRuns } from "../object/object.ts";
import { tracePartition } from "../object/stub.ts";
import type { Columns } from "../reads/reads.ts";
import type { RunRow } from "../reads/rows.ts";
import { writeCursor } from "./cursor.ts";
import { matchFarTraces } from "./far-traces.ts";
import { columnsOf, type Plan, scopeOf, toPlan, toQuery } from "./query-plan.ts";
import { RunsPage, type RunsQueryRequest } from "./query-schema.ts";
import { placesInScope, type RangedPlace } from "./scope.ts";
import { toRun } from "./to-run.ts";

type Found = { place: Place; row: RunRow; read: ReadRuns };

export type Page = { runs: JsonObject[]; next: string | null };

export async function queryRuns(ctx: Context, input: RunsQueryRequest): Promise<RunsPage> {
  const { runs, next } = await findPage(ctx, input);
  return RunsPage.parse({
    runs,
    cursors: { next, prev: null },
    search_cursors: null,
    parsed_query: null,
  });
}

function isOfAWeek({ start_time, end_time }: RunsQueryRequest): boolean {
  return start_time != null && (end_time ?? nowMicros()) - start_time <= 7 * DAY_US;
}

export async function findPage(ctx: Context, input: RunsQueryRequest): Promise<Page> {
  assertMay(ctx, "read");
  assertReadRate(ctx, isOfAWeek(input) ? "query_week" : "query_longer");
  const select = input.select ?? null;
  if (input.id) {
    const found = await findByIds(ctx, input.id, columnsOf(select));
    return { runs: await toRuns(ctx, found, select), next: null };
  }
  const plan = toPlan(input);
  const groups = await placesInScope(ctx, scopeOf(plan, input.session ?? null), plan.order);
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

/** Whether earlier pages have covered the group. */
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

async function toRuns(ctx: Context, found: Found[], select: string[] | null) {
  const wanted = select === null ? null : new Set([...select, "id"]);
  const runs = found.map(async ({ place, row, read }) => {
    const run = await toRun(ctx.env, place, row, read, wanted);
    if (wanted === null) return run;
    return Object.fromEntries(Object.entries(run).filter(([name]) => wanted.has(name)));
  });
  return Promise.all(runs);
}
