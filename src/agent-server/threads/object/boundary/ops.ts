import { z } from "zod";
import type {
  StoredValue,
  StoredWrite,
  TypedValue,
} from "../../../../isolate/checkpoint-contract.ts";
import type { Op } from "../../../../isolate/contract.ts";
import { AppError } from "../../../../shared/errors.ts";
import { isRecord } from "../../../../shared/guards.ts";
import { isShallow } from "../../../../shared/http/depth.ts";
import { isJsonWithin } from "../../contract/json-text.ts";
import { MAX_NAME_CHARACTERS, MAX_PATH_CHARACTERS } from "../../contract/sizes.ts";
import {
  EVENT_BYTES_PER_BYTE,
  MAX_COMMIT_BYTES,
  MAX_ENTRIES,
  MAX_EVENT_CONTAINERS,
  MAX_OPS,
  MAX_ROW_BYTES,
  MAX_VALUE_BYTES,
  OVERHEAD_BYTES,
} from "./limits.ts";
import { limitPayloads, sharedSizeOf, sizeOfTrace } from "./trace-payloads.ts";

/** Operations of a run as its isolate sends them. The agent's code reaches the host, so nothing is trusted. */

const Name = z.string().max(MAX_NAME_CHARACTERS);
const Path = z.string().max(MAX_PATH_CHARACTERS);
const Count = z.number().int().min(0);

const Bytes = z
  .instanceof(Uint8Array)
  .refine(
    ({ byteLength }) => byteLength <= MAX_VALUE_BYTES,
    `has more than ${MAX_VALUE_BYTES} bytes`,
  );

/** Counts entries before it reads them. */
function entries<T extends z.ZodType>(entry: T) {
  return z.array(z.unknown()).max(MAX_ENTRIES).pipe(z.array(entry));
}

const Value: z.ZodType<StoredValue> = z.object({
  channel: Name,
  version: z.number(),
  type: Name,
  data: Bytes,
});

const Write: z.ZodType<StoredWrite> = z.object({
  task_id: Name,
  path: Path,
  idx: z.number().int().min(-1024).max(MAX_OPS),
  channel: Name,
  type: Name,
  data: Bytes,
});

const CheckpointText = z.string().refine(isCheckpoint, "is not the JSON text of a checkpoint");
const ObjectText = z
  .string()
  .refine((text) => parseObject(text) !== null, "is not JSON text of an object");

const CheckpointOp = z
  .object({
    op: z.literal("checkpoint"),
    ns: Path,
    checkpoint_id: Name.min(1),
    parent_id: Name.nullable(),
    checkpoint: CheckpointText,
    metadata: ObjectText,
    values: entries(Value),
  })
  .refine(
    ({ checkpoint, metadata }) => bytesOf(checkpoint) + bytesOf(metadata) <= MAX_ROW_BYTES,
    `has more than ${MAX_ROW_BYTES} bytes without its values`,
  );

const WritesOp = z.object({
  op: z.literal("writes"),
  ns: Path,
  checkpoint_id: Name.min(1),
  writes: entries(Write),
});

// A line break would end the field of the server-sent event.
const EventOp = z.object({
  op: z.literal("event"),
  event: Path.min(1).refine(isOneLine, "has a line break"),
  data: z
    .string()
    .refine(isOneLine, "has a line break")
    .refine(
      (text) => isJsonWithin(text, MAX_EVENT_CONTAINERS),
      `is not JSON text of at most ${MAX_EVENT_CONTAINERS} objects and lists`,
    ),
});

const Text = z.union([
  z.object({ id: Count, text: z.string() }),
  z.object({ of: Count, before: z.string(), from: Count, chars: Count, rest: z.string() }),
]);

const TraceOp = z.object({
  op: z.literal("trace"),
  kind: z.enum(["post", "patch"]),
  id: Name.min(1),
  open: Path.nullable(),
  data: z.string(),
  texts: z.object({ inputs: Text.optional(), outputs: Text.optional() }).optional(),
});

const AnyOp = z.discriminatedUnion("op", [CheckpointOp, WritesOp, EventOp, TraceOp]);

export type ParsedOps = { ops: Op[]; bytes: number };

/**
 * Parses the operations of a batch. `bytes`: what they count of `MAX_RUN_BYTES`. A text counts its characters, an event
 * counts a quarter.
 * @throws AppError for a batch that is too large, or for its first invalid operation
 */
export function parseOps(value: unknown): ParsedOps {
  const { ops, refusal } = readOps(listOf(value));
  if (refusal) throw refusal;
  const kept = limitPayloads(ops);
  return { ops: kept, bytes: kept.reduce((sum, op) => sum + storedSizeOf(op), 0) };
}

/** Returns the valid operations before the first one that is refused, or all of them when each is valid. */
export function opsBeforeRefusal(value: unknown): Op[] {
  return Array.isArray(value) ? limitPayloads(readOps(value.slice(0, MAX_OPS)).ops) : [];
}

function readOps(list: unknown[]): { ops: Op[]; refusal: AppError | null } {
  const ops: Op[] = [];
  let bytes = 0;
  for (const [n, one] of list.entries()) {
    const parsed = AnyOp.safeParse(one);
    if (!parsed.success) return { ops, refusal: refuse(`ops.${n}${textOf(parsed.error)}`) };
    // Zod types an optional field as `undefined` too. Here it is absent.
    const op = parsed.data as Op;
    bytes += sizeOf(op);
    if (bytes > MAX_COMMIT_BYTES) {
      const text = `ops: has more than ${MAX_COMMIT_BYTES} bytes; commit smaller batches`;
      return { ops, refusal: refuse(text) };
    }
    ops.push(op);
  }
  return { ops, refusal: null };
}

function listOf(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw refuse("ops: must be a list of operations");
  if (value.length > MAX_OPS) throw refuse(`ops: has more than ${MAX_OPS} operations`);
  return value;
}

function textOf({ issues: [first] }: z.core.$ZodError): string {
  return `${(first?.path ?? []).map((key) => `.${String(key)}`).join("")}: ${first?.message}`;
}

function refuse(message: string): AppError {
  return new AppError("invalid_request", message);
}

function sizeOf(op: Op): number {
  if (op.op === "event") return sizeOfEvent(op);
  if (op.op === "trace") return OVERHEAD_BYTES + op.id.length + sizeOfTrace(op);
  if (op.op === "writes") return OVERHEAD_BYTES + bytesOfAll(op.writes);
  return OVERHEAD_BYTES + op.checkpoint.length + op.metadata.length + bytesOfAll(op.values);
}

/** Counts more than the content: an event without data takes storage, too. */
export function sizeOfEvent({ event, data }: { event: string; data: string }): number {
  return OVERHEAD_BYTES + event.length + data.length;
}

/**
 * Counts events at a fraction: values that they repeat are stored once, and `MAX_EVENT_CHARACTERS` limits them, too.
 */
function storedSizeOf(op: Op): number {
  if (op.op === "event") return sizeOf(op) / EVENT_BYTES_PER_BYTE;
  return sizeOf(op) + (op.op === "trace" ? sharedSizeOf(op) : 0);
}

function bytesOfAll(values: TypedValue[]): number {
  return values.reduce((sum, { data }) => sum + OVERHEAD_BYTES + data.byteLength, 0);
}

function isOneLine(text: string): boolean {
  return !text.includes("\n") && !text.includes("\r");
}

function bytesOf(text: string): number {
  // Three bytes are the upper bound of one UTF-16 unit in UTF-8. Two texts of at most half a row cannot exceed the limit:
  // such a text is not encoded, and counts its characters.
  if (text.length * 3 <= MAX_ROW_BYTES / 2) return text.length;
  return new TextEncoder().encode(text).byteLength;
}

function parseObject(text: string): Record<string, unknown> | null {
  if (text.length > MAX_ROW_BYTES) return null;
  try {
    const value: unknown = JSON.parse(text);
    // The JSON functions of SQLite read 1000 levels.
    return isRecord(value) && isShallow(value) ? value : null;
  } catch {
    return null;
  }
}

/** Whether the versions of all channels are numbers: the values of a checkpoint are found by them. */
function isCheckpoint(text: string): boolean {
  const { channel_versions: versions = {} } = parseObject(text) ?? { channel_versions: null };
  if (typeof versions !== "object" || versions === null) return false;
  return Object.values(versions).every((version) => typeof version === "number");
}
