import { fnv1a } from "../fnv.ts";

/** Factor by which the objects of a generation outnumber those of the generation before. */
const GROWTH = 4;
/** Limits the objects that a search may read to 85: those of generations 0 to 3. */
const MAX_GENERATION = 3;

/** Slot of the first object, the only one of generation 0. */
export const ROOT = 0;

/** Returns the slots of all generations up to this one, the root first. */
export function slotsUpTo(generation: number): number[] {
  return Array.from({ length: firstSlot(generation + 1) }, (_, slot) => slot);
}

/** Returns the slot of a text in a generation. Texts of one slot have four slots in the next generation. */
export function slotOf(text: string, generation: number): number {
  const hash = fnv1a(text);
  // The lowest bits of FNV depend on the lowest bits of the text alone.
  const mixed = (hash ^ (hash >>> 15)) >>> 0;
  return firstSlot(generation) + (mixed % GROWTH ** generation);
}

export function generationOf(slot: number): number {
  let generation = 0;
  while (firstSlot(generation + 1) <= slot) generation += 1;
  return generation;
}

/** Returns the generation after that of a full slot, at most MAX_GENERATION. */
export function generationAfter(slot: number): number {
  return Math.min(MAX_GENERATION, generationOf(slot) + 1);
}

export function isOfLastGeneration(slot: number): boolean {
  return generationOf(slot) === MAX_GENERATION;
}

/** Returns the slots of the next generation that have the texts of a slot. */
export function childrenOf(slot: number): number[] {
  const generation = generationOf(slot);
  const first = firstSlot(generation + 1) + slot - firstSlot(generation);
  return Array.from({ length: GROWTH }, (_, n) => first + n * GROWTH ** generation);
}

function firstSlot(generation: number): number {
  return (GROWTH ** generation - 1) / (GROWTH - 1);
}
