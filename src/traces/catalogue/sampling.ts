import { fnv1a } from "../../shared/fnv.ts";
import type { RunChange } from "../changes.ts";
import { parseDottedOrder } from "../dotted-order.ts";

/** `rate`: fraction of traces to store, from 0 to 1, for traces that begin at `since_us` or later. */
export type Sampling = { rate: number; since_us: number };

const HASHES = 2 ** 32;

/**
 * Whether a run of a trace is stored: always when the trace began before `since_us`, else by a hash of the trace's id.
 * The runs of a later trace are all stored or all left out, because they have the same hash in every request.
 */
export function isSampled(
  { rate, since_us }: Sampling,
  trace_id: string,
  columns: RunChange["columns"],
): boolean {
  const begun_us = beginOf(columns);
  return (begun_us !== null && begun_us < since_us) || mixed(fnv1a(trace_id)) / HASHES < rate;
}

/** Returns the start of the trace, or that of the run when the run has no dotted order. */
function beginOf({ dotted_order, start_us }: RunChange["columns"]): number | null {
  const root =
    dotted_order === undefined ? null : parseDottedOrder(dotted_order.split(".", 1)[0] ?? "");
  return root?.start_us ?? start_us ?? null;
}

/** Spreads a hash whose high bits are alike for similar texts (the end of MurmurHash3). */
function mixed(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
