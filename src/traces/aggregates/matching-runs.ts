import type { RunsQuery } from "../reads/query.ts";
import type { RunReader } from "../reads/run-reader.ts";
import { hasUsage, ownUsage } from "../rollup/trace-usage.ts";
import type { RunView } from "../rows/run-view.ts";
import type { CountedRun } from "../totals.ts";
import { NO_USAGE, type Usage } from "../usage.ts";

export type GroupBy =
  | { attribute: "name" | "run_type" | "status" | "tag" }
  | { attribute: "metadata"; key: string };

export type RunLabels = { name: string; run_type: string; status: string };
export type MatchingRun = CountedRun &
  RunLabels & { id: string; trace_id: string; is_root: number; groups: readonly string[] };

/** Limit of a wait: one year. Clients may write any number into this metadata. */
const MAX_WAIT_MS = 31_536_000_000;

/**
 * Yields matching runs without payloads, with their groups. Child runs with usage come last, because `UsageOnce`
 * expects the roots first.
 */
export function* readMatching(
  reader: RunReader,
  query: RunsQuery,
  group_by: GroupBy | null,
  { withQueueWait = false } = {},
): Generator<MatchingRun> {
  const later: MatchingRun[] = [];
  for (const run of reader.matching(query, null)) {
    const isRoot = run.is_root === 1;
    const match = toMatch(run, isRoot ? reader.usage.of(run) : ownUsage(run), group_by);
    if (isRoot && withQueueWait) match.queue_wait_ms = queueWaitOf(run);
    if (isRoot || !hasUsage(match)) yield match;
    else later.push(match);
  }
  yield* later;
}

function toMatch(run: RunView, usage: Usage, group_by: GroupBy | null): MatchingRun {
  const { id, trace_id, is_root, name, run_type, status } = run;
  return {
    ...{ id, trace_id, is_root, name, run_type, status },
    ...timingOf(run),
    ...usage,
    groups: groupsOf(run, group_by),
  };
}

export function timingOf({ start_us, end_us, first_token_us, status }: RunView) {
  return { start_us, end_us, first_token_us, status };
}

/** Returns the milliseconds that a run waited in the queue, `null` unless its metadata has a number. */
function queueWaitOf(run: RunView): number | null {
  const found = run.pairs("m").find(([key]) => key === "queue_wait_ms");
  const wait = found?.[2] ?? null;
  return wait === null ? null : Math.min(Math.max(wait, 0), MAX_WAIT_MS);
}

/** Counts the usage of a trace at its root when the root matches, else at each matching run. Expects roots first. */
export class UsageOnce {
  readonly #counted = new Set<string>();

  /** Returns the run, without its usage when that of its root was counted. */
  toCounted(run: MatchingRun): CountedRun {
    if (this.#counted.has(run.trace_id)) return { ...run, ...NO_USAGE };
    if (run.is_root === 1) this.#counted.add(run.trace_id);
    return run;
  }
}

export function groupsOf(run: RunView, group_by: GroupBy | null): readonly string[] {
  if (group_by === null) return [];
  if (group_by.attribute === "metadata") return metadataValues(run, group_by.key);
  if (group_by.attribute === "tag") return [...new Set(run.tag_list)];
  return [run[group_by.attribute]];
}

function metadataValues(run: RunView, key: string): string[] {
  const values = run.pairs("m").flatMap(([name, value]) => (name === key ? [value] : []));
  return [...new Set(values)];
}
