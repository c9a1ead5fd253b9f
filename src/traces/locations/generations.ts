import { hashTrace } from "../segments/codec/trace-hashes.ts";

/** Factor by which the slots of a generation outnumber those of the generation before. */
const GROWTH = 2;
const HASHES = 2 ** 32;
const FLUSH_MS = 1000;
const MAX_FLUSH_FACTOR = 16;
/** Pause between two writes of a busy object's counts, in `flushDelayMs`: all projects of a region share D1. */
const PAUSE_FACTOR = 5;
const MAX_PAUSE_MS = 20_000;

/** Returns the number of slots of a generation. */
export function slotsIn(generation: number): number {
  return GROWTH ** generation;
}

/** Returns the first slot of a generation. Runs of unknown traces are stored there. */
export function firstSlot(generation: number): number {
  return (slotsIn(generation) - 1) / (GROWTH - 1);
}

/** Returns the slot of a trace, by the upper bits of its hash: indexes in the object use the lower ones. */
export function slotOf(trace_id: string, generation: number): number {
  return firstSlot(generation) + Math.floor((hashTrace(trace_id) / HASHES) * slotsIn(generation));
}

/** Returns the slots of the next generation for the traces of a slot. */
export function slotsAfter(slot: number): number[] {
  const generation = generationOf(slot);
  const first = firstSlot(generation + 1) + GROWTH * (slot - firstSlot(generation));
  return Array.from({ length: GROWTH }, (_, n) => first + n);
}

/** Returns the slot for the traces of a slot in the generation before. `null` for the first generation. */
export function slotBefore(slot: number): number | null {
  const generation = generationOf(slot);
  if (generation === 0) return null;
  return firstSlot(generation - 1) + Math.floor((slot - firstSlot(generation)) / GROWTH);
}

export function generationOf(slot: number): number {
  let generation = 0;
  while (firstSlot(generation + 1) <= slot) generation += 1;
  return generation;
}

/** Least time from a change to the write of the counts. 16 slots of a generation together write as often as one. */
export function flushDelayMs(slot: number): number {
  return FLUSH_MS * Math.min(MAX_FLUSH_FACTOR, slotsIn(generationOf(slot)));
}

/** Least time between two writes of the counts. */
export function flushPauseMs(slot: number): number {
  return Math.min(MAX_PAUSE_MS, PAUSE_FACTOR * flushDelayMs(slot));
}

/** Whether a slot can have runs of a trace. Any slot can have those of an unknown trace, `null`. */
export function mayHave(slot: number, trace_id: string | null): boolean {
  const generation = generationOf(slot);
  return (
    trace_id === null || slot === firstSlot(generation) || slot === slotOf(trace_id, generation)
  );
}
