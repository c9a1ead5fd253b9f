import type { Context } from "../../shared/context.ts";
import { notFound } from "../../shared/errors.ts";
import { dayBefore } from "../../shared/times.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import type { Home, PartitionKey } from "../changes.ts";
import { mayHave } from "../locations/generations.ts";
import { tracePartition } from "../object/stub.ts";
import type { TraceListing } from "../reads/spans.ts";
import { findCallers, MAX_CALLED_TRACES, type TraceBelow } from "../trees/called-traces.ts";
import { partitionsOfTrace } from "../trees/trace-partitions.ts";
import { seqKey, type TraceCursor } from "./cursors.ts";

const AT_ONCE = 25;
/**
 * Maximum number of partitions that are listed for the trace itself. Workers allow 10,000 subrequests, of which the
 * reads of spans need a part.
 */
const MAX_LISTINGS = 3000;
/** Maximum number of listings for all called traces together. */
const MAX_LISTINGS_BELOW = 2000;

/** `below`: where a called trace belongs in the trace that is read, `null` for that trace itself. */
export type PlacedListing = {
  partition: PartitionKey;
  listing: TraceListing;
  below: TraceBelow | null;
};

/** `listed`: listings with runs of their trace. `isCut`: whether partitions or called traces are left out. */
export type ListedTree = Pick<TraceCursor, "seqs" | "called"> & {
  listed: PlacedListing[];
  isCut: boolean;
};

type ListRequest = Pick<PlacedListing, "partition" | "below"> &
  Pick<TraceCursor, "trace_id" | "seqs">;
type PlacedTrace = { below: TraceBelow; partitions: PartitionKey[] };

/** Lists the runs of a trace and of the traces that it has called. @throws AppError 404 when the trace has no runs */
export async function listTree(
  ctx: Context,
  trace_id: string,
  home: Home | null,
  since: TraceCursor | null,
): Promise<ListedTree> {
  const keys = await partitionsOfTrace(ctx, trace_id, home);
  const own = keys.filter(({ slot }) => mayHave(slot, trace_id));
  // Any slot can have traces that this one has called. They are found once its root is stored.
  const others = home === null ? [] : keys.filter(({ slot }) => !mayHave(slot, trace_id));
  const wanted = [...own, ...others];
  const seqs = since?.seqs ?? {};
  const ours = await listAll(
    ctx,
    wanted.slice(0, MAX_LISTINGS).map((partition) => ({ partition, trace_id, below: null, seqs })),
  );
  if (!ours.some(exists)) throw notFound("Trace", trace_id);
  const called = home === null ? [] : await findCallers(ctx, trace_id, keys, calledBy(ours));
  const placed = placeCalled(called, keys, MAX_LISTINGS_BELOW);
  const below = await listAll(
    ctx,
    placed.flatMap((one) => requestsFor(one, since)),
  );
  const all = [...ours, ...below];
  return {
    seqs: seqsOf(all),
    called: placed.map((one) => one.below.trace_id),
    listed: all.filter(exists),
    isCut: wanted.length > MAX_LISTINGS || called.length > placed.length,
  };
}

function listAll(ctx: Context, requests: ListRequest[]): Promise<PlacedListing[]> {
  return mapConcurrent(requests, AT_ONCE, async ({ partition, trace_id, below, seqs }) => {
    const min_seq = seqs[seqKey(partition)] ?? 0;
    const listing = await tracePartition(ctx.env, partition).listTrace(trace_id, min_seq);
    return { partition, listing, below };
  });
}

function calledBy(listed: PlacedListing[]) {
  return listed.flatMap(({ partition: { day }, listing }) =>
    listing.called.map((one) => ({ ...one, day })),
  );
}

/**
 * Returns called traces with the partitions that may have their runs, from the day before their roots on: the clock of
 * a child may be behind. Leaves out the traces with which there are more than `max_listings`.
 */
export function placeCalled(
  called: TraceBelow[],
  keys: PartitionKey[],
  max_listings: number,
): PlacedTrace[] {
  const placed: PlacedTrace[] = [];
  let listings = 0;
  for (const below of called.slice(0, MAX_CALLED_TRACES)) {
    const first = dayBefore(below.day);
    const partitions = keys.filter(
      ({ day, slot }) => day >= first && mayHave(slot, below.trace_id),
    );
    listings += partitions.length;
    if (listings > max_listings) break;
    placed.push({ below, partitions });
  }
  return placed;
}

/** Requests all runs of a trace that the cursor does not have. */
function requestsFor({ below, partitions }: PlacedTrace, since: TraceCursor | null): ListRequest[] {
  const { trace_id } = below;
  const seqs = since?.called.includes(trace_id) ? since.seqs : {};
  return partitions.map((partition) => ({ partition, trace_id, below, seqs }));
}

function exists({ listing }: PlacedListing): boolean {
  return listing.exists;
}

/**
 * Keeps the first of several listings of a partition, also one that has found no runs: the next request must return
 * what changed after it. Leaves out partitions without runs of any of the traces.
 */
function seqsOf(all: PlacedListing[]): TraceCursor["seqs"] {
  const found = new Set(all.filter(exists).map(({ partition }) => seqKey(partition)));
  const seqs = new Map<string, number>();
  for (const { partition, listing } of all) {
    const key = seqKey(partition);
    if (found.has(key)) seqs.set(key, Math.min(listing.seq, seqs.get(key) ?? listing.seq));
  }
  return Object.fromEntries(seqs);
}
