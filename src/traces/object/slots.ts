import { and, eq } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { TtlCache } from "../../shared/work/ttl-cache.ts";
import { partitions } from "../catalogue/table.ts";
import type { Home, PartitionKey } from "../changes.ts";
import { MAX_PARTITION_BYTES, MAX_PARTITION_ROWS } from "../limits.ts";
import { generationOf, slotBefore, slotOf } from "../locations/generations.ts";
import { tracePartition } from "./stub.ts";

/** Time for which an isolate may still write new runs to a slot that was closed. */
export const SLOT_CACHE_MS = 60_000;

/** `known`: slots of a day that the catalogue has. `open`: generation for new runs, which may have no slot yet. */
export type DaySlots = { open: number; known: Set<number> };

const days = new TtlCache<DaySlots>(SLOT_CACHE_MS, 5000);

export function daySlots(ctx: Context, home: Home): Promise<DaySlots> {
  return days.get(`${home.project_id}/${home.day}`, () => readSlots(ctx, home));
}

/** Makes the next call read the slots of a day again: one is full, or another isolate may have added some. */
export function forgetSlots({ project_id, day }: Home): void {
  days.forget((key) => key === `${project_id}/${day}`);
}

/** A day gets its next generation when a slot of the newest one is full or closed. */
async function readSlots(ctx: Context, { project_id, day }: Home): Promise<DaySlots> {
  const { slot, bytes, rows, closed_at } = partitions;
  const found = await ctx.db
    .select({ slot, bytes, rows, closed_at })
    .from(partitions)
    .where(and(eq(partitions.project_id, project_id), eq(partitions.day, day)));
  const newest = found.reduce((most, one) => Math.max(most, generationOf(one.slot)), 0);
  const isFull = found.some(
    (one) =>
      generationOf(one.slot) === newest &&
      (one.closed_at !== null || one.bytes > MAX_PARTITION_BYTES || one.rows > MAX_PARTITION_ROWS),
  );
  const known = new Set(found.map((one) => one.slot));
  return { open: isFull ? newest + 1 : newest, known };
}

/** Returns the partition for new runs of a trace. */
export async function openPartition(
  ctx: Context,
  home: Home,
  trace_id: string,
): Promise<PartitionKey> {
  const { open } = await daySlots(ctx, home);
  return { ...home, slot: await addSlot(ctx, home, slotOf(trace_id, open)) };
}

/**
 * Inserts the catalogue row of a slot before its first run is written. Before that, the slot of the same traces in the
 * earlier generation refuses new runs: isolates that do not know the new generation yet would create runs in both.
 */
export async function addSlot(ctx: Context, home: Home, slot: number): Promise<number> {
  const { known } = await daySlots(ctx, home);
  if (known.has(slot)) return slot;
  const before = slotBefore(slot);
  if (before !== null) await tracePartition(ctx.env, { ...home, slot: before }).markFull();
  await ctx.db
    .insert(partitions)
    .values({
      ...home,
      slot,
      workspace_id: ctx.caller.workspace_id,
      rows: 0,
      bytes: 0,
      seq: 0,
      min_start_us: null,
      max_start_us: null,
      roots: 0,
      updated_at: new Date().toISOString(),
    })
    .onConflictDoNothing();
  known.add(slot);
  return slot;
}
