import type { Context } from "../../shared/context.ts";
import type { PartitionKey } from "../changes.ts";
import { tracePartition } from "../object/stub.ts";
import { MessageRows } from "../reads/message-size.ts";
import type { RunsQuery } from "../reads/query.ts";
import { comparePositions } from "../reads/query.ts";
import type { ReadRuns } from "../reads/run-pages.ts";
import type { Position, TraceRunRow } from "../rows/rows.ts";
import { matchFarTraces } from "./far-traces.ts";
import { type QueryPlan, toQuery } from "./query-plan.ts";
import type { PartitionRange } from "./scope.ts";

/**
 * Limit of calls that stop early while the page has no run. Each tests about 30,000 runs, so that all take about 20
 * seconds. A page that has a run ends with the first group in which a call stops early.
 */
const MAX_STOPS = 100;

export type RunMatch = { partition: PartitionKey; row: TraceRunRow; read: ReadRuns };

/** `stopped`: position where a limit of the search or of a message ended it early, `null` when none did. */
type FoundMatches = { found: RunMatch[]; seq: number; stopped: Position | null };

/** Search of one partition. `next` is `null` when the search is done. */
type PartitionSearch = {
  partition: PartitionKey;
  query: RunsQuery;
  found: RunMatch[];
  next: Position | null;
  seq: number;
  /** Number of calls that stopped early. */
  stops: number;
};

/** Finds a page in groups of partitions that do not overlap in time. */
export async function searchPartitions(
  ctx: Context,
  groups: PartitionRange[][],
  plan: QueryPlan,
): Promise<FoundMatches> {
  let found: RunMatch[] = [];
  // A sequence is a time in microseconds.
  let seq = Date.now() * 1000;
  let stops = 0;
  for (const group of groups) {
    if (found.length >= plan.limit) break;
    if (isCovered(group, plan)) continue;
    const searches = await searchGroup(ctx, group, plan, found.length > 0 ? 0 : MAX_STOPS - stops);
    stops += countStops(searches);
    seq = Math.max(seq, ...searches.map((search) => search.seq));
    const tested = stoppedAt(searches, plan);
    found = [...found, ...matchesUntil(searches, tested, plan)];
    const stopped = tested ?? endOfFull(found);
    if (stopped !== null) return { found: found.slice(0, plan.limit), seq, stopped };
  }
  return { found: found.slice(0, plan.limit), seq, stopped: null };
}

/** Searches a group until all searches are done, a run for the page is found, or `max_stops` calls stopped early. */
async function searchGroup(
  ctx: Context,
  group: PartitionRange[],
  plan: QueryPlan,
  max_stops: number,
): Promise<PartitionSearch[]> {
  const far = await matchFarTraces(ctx, group, plan.filters);
  const searches = await Promise.all(
    group.map(({ partition }) => {
      const query = toQuery(plan, partition, far);
      return advance(ctx, { partition, query, found: [], next: query.after, seq: 0, stops: 0 });
    }),
  );
  while (countStops(searches) < max_stops) {
    const stopped = stoppedAt(searches, plan);
    if (stopped === null || matchesUntil(searches, stopped, plan).length > 0) break;
    // A search that has found runs waits for the searches that have found none.
    const open = searches.filter((search) => search.next !== null && search.found.length === 0);
    await Promise.all(open.map((search) => advance(ctx, search)));
  }
  return searches;
}

function countStops(searches: PartitionSearch[]): number {
  return searches.reduce((sum, { stops }) => sum + stops, 0);
}

/**
 * Makes one call for a search that has found no runs. The object stops a long search, so that it can answer other calls
 * in between.
 */
async function advance(ctx: Context, search: PartitionSearch): Promise<PartitionSearch> {
  const { partition, query, found, next, stops } = search;
  const read = await tracePartition(ctx.env, partition).findRuns({ ...query, after: next });
  for (const row of read.runs) found.push({ partition, row, read });
  const seq = Math.max(search.seq, read.seq);
  return Object.assign(search, { next: read.next, seq, stops: stops + (read.next ? 1 : 0) });
}

/** Returns the position up to which all searches have tested the runs, `null` when they have tested all. */
function stoppedAt(searches: PartitionSearch[], { order }: QueryPlan): Position | null {
  const positions = searches.flatMap(({ next }) => next ?? []).sort(comparePositions);
  return positions.at(order === "asc" ? 0 : -1) ?? null;
}

/** Returns the matches in order, without those behind `stopped`: another search may still find runs before them. */
function matchesUntil(
  searches: PartitionSearch[],
  stopped: Position | null,
  { order }: QueryPlan,
): RunMatch[] {
  const sign = order === "asc" ? 1 : -1;
  const matches = searches.flatMap(({ found }) => found);
  return matches
    .filter(({ row }) => stopped === null || sign * comparePositions(row, stopped) <= 0)
    .sort((a, b) => sign * comparePositions(a.row, b.row));
}

/** @returns the position of the last row when the rows fill a message, else `null` */
function endOfFull(found: RunMatch[]): Position | null {
  const page = new MessageRows<TraceRunRow>();
  for (const { row } of found) page.add(row);
  return page.isFull ? (page.rows.at(-1) ?? null) : null;
}

/** Whether earlier pages have covered all runs of the group. */
function isCovered(group: PartitionRange[], { after, order }: QueryPlan): boolean {
  if (after === null) return false;
  return order === "asc"
    ? group.every(({ to_us }) => to_us < after.start_us)
    : group.every(({ from_us }) => from_us > after.start_us);
}
