import type { Context } from "../../shared/context.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import type { Home, RunChange } from "../changes.ts";
import { MAX_PARTITION_ROWS } from "../limits.ts";
import { firstSlot, slotOf } from "../locations/generations.ts";
import { addSlot, type DaySlots, daySlots, forgetSlots } from "../object/slots.ts";
import { tracePartition } from "../object/stub.ts";
import type { FarParent } from "../storage/far-parents.ts";
import { traceOf } from "./lineage.ts";

const SLOTS_AT_ONCE = 8;

/**
 * Changes each run in the slot that has it, and writes new runs to the open generation. A run of a known trace may be
 * in two slots of each generation only, so the calls do not grow with the slots of the day.
 * @returns the runs below which spans of later days may belong
 */
export async function writeChanges(
  ctx: Context,
  home: Home,
  changes: RunChange[],
): Promise<FarParent[]> {
  const far: FarParent[] = [];
  let left = changes;
  for (let min_open = 0; left.length > 0; ) {
    const known = await slotsFor(ctx, home, left);
    const day = { ...known, open: Math.max(known.open, min_open) };
    const written = await writeTo(ctx, home, day, left);
    far.push(...written.far);
    const refused = new Set(written.refused);
    left = left.filter(({ id }) => refused.has(id));
    // Another isolate has opened the next generation.
    if (refused.size > 0) forgetSlots(home);
    min_open = day.open + 1;
  }
  return far;
}

/** @returns `refused`: ids of new runs that full slots refuse */
async function writeTo(
  ctx: Context,
  home: Home,
  day: DaySlots,
  changes: RunChange[],
): Promise<{ far: FarParent[]; refused: string[] }> {
  const far: FarParent[] = [];
  let left = changes;
  const found = await mapConcurrent(
    candidates(day, changes),
    SLOTS_AT_ONCE,
    async ([slot, ids]) => {
      const partition = { ...home, slot };
      return { partition, here: new Set(await tracePartition(ctx.env, partition).hasRuns(ids)) };
    },
  );
  for (const { partition, here } of found) {
    const known = left.filter(({ id }) => here.has(id));
    if (known.length === 0) continue;
    const result = await tracePartition(ctx.env, partition).ingest(partition, known, true);
    far.push(...result.far);
    const unknown = new Set(result.unknown);
    left = left.filter(({ id }) => !here.has(id) || unknown.has(id));
  }
  const added = [...Map.groupBy(left, (change) => newSlotOf(day, change))];
  const results = await mapConcurrent(added, SLOTS_AT_ONCE, async ([slot, some]) => {
    const partition = { ...home, slot: await addSlot(ctx, home, slot) };
    return tracePartition(ctx.env, partition).ingest(partition, some, false);
  });
  if (results.some(({ rows }) => rows > MAX_PARTITION_ROWS)) forgetSlots(home);
  far.push(...results.flatMap((result) => result.far));
  return { far, refused: results.flatMap(({ unknown }) => unknown) };
}

/**
 * Returns the slots of the day, read again for runs of unknown traces: these may be in slots that other isolates added.
 */
async function slotsFor(ctx: Context, home: Home, changes: RunChange[]): Promise<DaySlots> {
  const day = await daySlots(ctx, home);
  if (day.open === 0 || changes.every((change) => traceOf(change) !== null)) return day;
  forgetSlots(home);
  return daySlots(ctx, home);
}

/**
 * Returns the slots that may have the runs, with the ids for each. Omits the slot to which a new run would be written.
 */
function candidates(day: DaySlots, changes: RunChange[]): [number, string[]][] {
  const bySlot = new Map<number, Set<string>>();
  for (const change of changes) {
    const written = newSlotOf(day, change);
    for (const slot of slotsOf(day, traceOf(change))) {
      if (slot !== written) bySlot.set(slot, (bySlot.get(slot) ?? new Set()).add(change.id));
    }
  }
  return [...bySlot].map(([slot, ids]) => [slot, [...ids]]);
}

function slotsOf({ open, known }: DaySlots, trace_id: string | null): Set<number> {
  if (trace_id === null) return known;
  const generations = Array.from({ length: open + 1 }, (_, generation) => generation);
  return new Set(generations.flatMap((one) => [firstSlot(one), slotOf(trace_id, one)]));
}

function newSlotOf({ open }: DaySlots, change: RunChange): number {
  const trace_id = traceOf(change);
  return trace_id === null ? firstSlot(open) : slotOf(trace_id, open);
}
