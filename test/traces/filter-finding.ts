import { findCandidates } from "../../src/traces/evaluate/candidates.ts";
import { toRunTest } from "../../src/traces/evaluate/evaluate.ts";
import { parseFilter } from "../../src/traces/filter/parse.ts";
import { TraceUsage } from "../../src/traces/rollup/trace-usage.ts";
import type { RunView } from "../../src/traces/rows/run-view.ts";
import { feedbackOf, type TestRun, termsOf, viewOf } from "./filter-runs.ts";

/** Returns a function that finds runs by a scan, and among those that the filter's terms select. */
export function finderOf(runs: TestRun[]) {
  const views = runs.map((run, index) => viewOf(run, index + 1));
  const traces = Map.groupBy(views, ({ trace_id }) => trace_id);
  const usage = new Map([...traces].map(([id, inTrace]) => [id, new TraceUsage(inTrace)]));
  const feedback = new Map(runs.map((run) => [run.id, feedbackOf(run)]));
  const terms = new Map(views.map((view) => [view.id, termsOf(view)]));
  return (text: string, session_id: string) => {
    const filter = parseFilter(text);
    const test = toRunTest(filter, {
      session_id,
      usageOf: (run) => usage.get(run.trace_id)?.of(run) ?? run,
      feedbackOf: (run_id) => feedback.get(run_id) ?? [],
    });
    const { terms: lists, feedback_keys, ids, min_start_us, max_start_us } = findCandidates(filter);
    const isCandidate = ({ id, start_us }: RunView) =>
      (ids === null || ids.includes(id)) &&
      start_us >= (min_start_us ?? 0) &&
      start_us <= (max_start_us ?? Number.POSITIVE_INFINITY) &&
      feedback_keys.every((key) => feedback.get(id)?.some((one) => one.key === key)) &&
      lists.every((ranges) =>
        ranges.some(({ first, last }) =>
          terms.get(id)?.some((term) => term >= first && term <= last),
        ),
      );
    const idsOf = (found: RunView[]) => found.map(({ id }) => id);
    return { all: idsOf(views.filter(test)), named: idsOf(views.filter(isCandidate).filter(test)) };
  };
}
