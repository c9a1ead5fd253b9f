import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { DAY_US, nowMicros } from "../../shared/times.ts";
import { resolveProject } from "../catalogue/projects.ts";
import type { SealedLookup } from "../object/sealing.ts";
import { tracePartition } from "../object/stub.ts";
import type { ScanChunk } from "../reads/scan-types.ts";
import type { SealedFile, SealedRange } from "../storage/sealed-files.ts";
import { SealWriter } from "./seal-writer.ts";

export type { SealedLookup } from "../object/sealing.ts";
export type { SealedFile } from "../storage/sealed-files.ts";

/** Number of rows below which three calls of R2 cost more than an export that encodes the rows. */
const MIN_ROWS = 1000;

/**
 * Finds files with the rows of a chunk. Only chunks of a range that is a whole day can be sealed: exports of other
 * ranges rarely repeat.
 *
 * @param owner the caller's work, whose earlier attempt is replaced
 */
export async function findSealed(
  ctx: Context,
  chunk: ScanChunk,
  layout: string,
  owner: string,
): Promise<SealedLookup> {
  assertMay(ctx, "read");
  if (!maySeal(chunk)) return { file: null, parts: [], can_seal: false };
  await resolveProject(ctx, chunk.partition.project_id);
  const object = tracePartition(ctx.env, chunk.partition);
  const found = await object.findSealed(rangeOf(chunk, layout), owner);
  return { ...found, can_seal: found.can_seal && isWholeDay(chunk) };
}

/** Opens a file that keeps the rows of a chunk for later exports. `null` when the partition refuses the attempt. */
export async function openSeal(
  { env }: Context,
  chunk: ScanChunk,
  layout: string,
  owner: string,
): Promise<SealWriter | null> {
  return SealWriter.open(env, chunk.partition, rangeOf(chunk, layout), owner);
}

/** @returns `null` when the file was deleted: its rows have changed */
export async function readSealed(
  { env }: Context,
  { key, bytes }: SealedFile,
  [start, end]: readonly [number, number],
): Promise<Uint8Array<ArrayBuffer> | null> {
  const length = Math.min(end, bytes) - start;
  const object = await env.ARTIFACTS.get(key, { range: { offset: start, length } });
  if (object === null) return null;
  const body = new Uint8Array(await object.arrayBuffer());
  if (body.byteLength !== length) throw new Error(`${key}: ${body.byteLength} bytes at ${start}`);
  return body;
}

/** Whether sealed files can have the rows of a chunk: many rows of a past UTC day, with no lower sequence. */
function maySeal({ from_us, min_seq, rows }: ScanChunk): boolean {
  const midnight = (Math.floor(from_us / DAY_US) + 1) * DAY_US;
  return midnight <= nowMicros() && min_seq === null && rows >= MIN_ROWS;
}

function isWholeDay({ from_us, to_us }: ScanChunk): boolean {
  return from_us % DAY_US === 0 && to_us === from_us + DAY_US;
}

function rangeOf(
  { from_us, to_us, after, until, max_seq }: ScanChunk,
  layout: string,
): SealedRange {
  return { from_us, to_us, after, until, max_seq, layout };
}
