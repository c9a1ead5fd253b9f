import type { Context } from "../../shared/context.ts";
import { DAY_US, dayOf, toMicros } from "../../shared/times.ts";
import type { Home } from "../changes.ts";
import { slotOf } from "../locations/generations.ts";
import { addSlot, daySlots } from "../object/slots.ts";
import { tracePartition } from "../object/stub.ts";
import type { FarParent } from "../storage/far-parents.ts";

/** Number of days after its start on which a run can have children. */
const MAX_DAYS = 7;

/**
 * Sends runs that end on a later day to the partitions of each following day up to their end, for at most `MAX_DAYS`.
 * Spans of these days find their parent, whether they arrive before it or after it. Each day adds its own runs that end
 * later.
 */
export async function linkLaterDays(
  ctx: Context,
  { project_id, day }: Home,
  parents: FarParent[],
): Promise<void> {
  let known = parents;
  const midnight = toMicros(`${day}T00:00:00Z`) ?? 0;
  for (let n = 1; n <= MAX_DAYS; n++) {
    const later = dayOf(midnight + n * DAY_US);
    known = known.filter(({ end_us }) => dayOf(end_us) >= later);
    if (known.length === 0) return;
    const home = { project_id, day: later };
    known = await linkDay(ctx, home, known);
  }
}

/**
 * Links the spans of one day, from its oldest slots to the slots for its new runs. Returns the given parents and those
 * found on this day.
 */
async function linkDay(ctx: Context, home: Home, parents: FarParent[]): Promise<FarParent[]> {
  const day = await daySlots(ctx, home);
  let known = parents;
  for (let generation = 0; generation <= day.open; generation++) {
    const bySlot = Map.groupBy(known, ({ trace_id }) => slotOf(trace_id, generation));
    for (const [slot, some] of bySlot) {
      const isOld = generation < day.open;
      if (isOld && !day.known.has(slot)) continue;
      const partition = { ...home, slot: await addSlot(ctx, home, slot) };
      // The cache may still have an expired slot: with `isOld` its deleted object is not created again.
      const placed = await tracePartition(ctx.env, partition).linkSpans(partition, some, isOld);
      known = [...new Map([...known, ...placed].map((run) => [run.id, run])).values()];
    }
  }
  return known;
}
