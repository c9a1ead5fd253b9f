import type { Context } from "../../shared/context.ts";
import { invalid } from "../../shared/errors.ts";
import { chunks } from "../../shared/work/chunks.ts";
import type { PartitionKey } from "../changes.ts";
import { matchFarTraces } from "../query/far-traces.ts";
import { type QueryPlan, scopeOf, toPlan, toQuery } from "../query/query-plan.ts";
import type { RunsQueryRequest } from "../query/query-schema.ts";
import { type PartitionRange, partitionsInScope } from "../query/scope.ts";
import type { RunsQuery } from "../reads/query.ts";

/** Bounds the subrequests and the memory of a request. */
const MAX_PARTITIONS = 900;
const AT_ONCE = 25;

/** Yields the result of each partition in scope, several at a time. */
export async function* queryPartitions<T>(
  ctx: Context,
  input: Omit<RunsQueryRequest, "limit">,
  query: (partition: PartitionKey, query: RunsQuery) => Promise<T>,
): AsyncGenerator<T[]> {
  const plan = toPlan({ ...input, select: [], limit: 1 });
  const groups = await partitionsInScope(ctx, scopeOf(plan, input.session ?? null), plan.order);
  if (groups.flat().length > MAX_PARTITIONS) {
    const text = `the runs are in more than ${MAX_PARTITIONS} partitions, which are days of a project: send a later start_time or fewer projects`;
    throw invalid(["body", "start_time"], text);
  }
  for (const group of inSteps(groups, plan)) {
    const far = await matchFarTraces(ctx, group, plan.filters);
    yield await Promise.all(
      group.map(({ partition }) => query(partition, toQuery(plan, partition, far))),
    );
  }
}

/**
 * Returns the lists of partitions to read at once. Filters of traces need each group apart: they also read the days
 * around a group.
 */
function inSteps(groups: PartitionRange[][], { filters }: QueryPlan): PartitionRange[][] {
  if (filters.trace_filter || filters.tree_filter) return groups;
  return chunks(groups.flat(), AT_ONCE);
}
