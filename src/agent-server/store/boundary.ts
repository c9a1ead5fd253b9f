import { z } from "zod";
import { answerOf } from "../../control-plane/deployments/isolate/agent-answers.ts";
import type { Answer } from "../../isolate/contract.ts";
import type {
  EmbedCall,
  EmbeddingResult,
  StoreOp,
  StoreRefusal,
} from "../../isolate/store-contract.ts";
import { isShallow } from "../../shared/http/depth.ts";
import { plainObject } from "../../shared/plain.ts";
import { bytesInMessage } from "./storage/answer.ts";
import {
  MAX_BATCH_BYTES,
  MAX_DIMS,
  MAX_ITEM_BYTES,
  MAX_KEY_CHARACTERS,
  MAX_LABELS,
  MAX_NAMESPACE_CHARACTERS,
  MAX_OPS,
  MAX_VECTORS,
  OVERHEAD_BYTES,
} from "./storage/limits.ts";

// Parses the store operations that the isolate of an agent sends. `problemOf` checks the rules of the store afterwards.

// Limits of texts, lists and vectors are one above those of `problemOf`, so that `problemOf` refuses with its own text.
const Label = z.string().max(MAX_NAMESPACE_CHARACTERS + 1);
const Labels = z
  .array(z.unknown())
  .max(MAX_LABELS + 1)
  .pipe(z.array(Label));
const Key = z.string().max(MAX_KEY_CHARACTERS + 1);
const Vector = z.instanceof(Float32Array).refine(({ length }) => length <= MAX_DIMS + 1);
const Page = { limit: z.number(), offset: z.number() };

const Condition = z.object({ match: z.enum(["prefix", "suffix"]), path: Labels });

const Op = z.discriminatedUnion("op", [
  z.object({ op: z.literal("get"), namespace: Labels, key: Key, refresh: z.boolean() }),
  z.object({
    op: z.literal("put"),
    namespace: Labels,
    key: Key,
    value: z.string().refine(isObjectText, "is not JSON text of an object"),
    vectors: z
      .array(z.unknown())
      .max(MAX_VECTORS + 1)
      .pipe(z.array(Vector)),
    ttl_ms: z.number().nullable(),
  }),
  z.object({ op: z.literal("delete"), namespace: Labels, key: Key }),
  z.object({
    op: z.literal("search"),
    prefix: Labels,
    filter: plainObject().nullable(),
    vector: Vector.nullable(),
    refresh: z.boolean(),
    ...Page,
  }),
  z.object({
    op: z.literal("namespaces"),
    conditions: z.array(z.unknown()).max(MAX_LABELS).pipe(z.array(Condition)),
    max_depth: z.number().nullable(),
    ...Page,
  }),
]);

/** Estimated bytes of an object, a list or a plain value, without its texts. */
const NODE_BYTES = 64;

type ParsedOps = { ok: true; ops: StoreOp[] } | { ok: false; refusal: StoreRefusal };

/**
 * Parses operations up to the first invalid one. Counts the bytes of each: structured clone sends a value that several
 * operations share only once, so the size of the message does not limit their sum.
 */
export function parseStoreOps(value: unknown): ParsedOps {
  if (!Array.isArray(value)) return refuse("ops: must be a list of operations.");
  if (value.length > MAX_OPS) return refuse(`ops: a batch has at most ${MAX_OPS} operations.`);
  const ops: StoreOp[] = [];
  let bytes = 0;
  for (const [n, one] of value.entries()) {
    const { success, data, error } = Op.safeParse(one);
    if (!success) return refuse(`ops.${[n, ...pathOf(error)].join(".")}: ${messageOf(error)}.`);
    bytes += sizeOf(data);
    if (bytes > MAX_BATCH_BYTES) {
      return refuse(`ops: a batch has at most ${MAX_BATCH_BYTES} bytes: send smaller batches.`);
    }
    ops.push(data);
  }
  return { ok: true, ops };
}

/** Returns the schema of the answer to a call: a list of vectors for each item, and a vector for the query, if any. */
export function embeddedAnswer({ items, query }: EmbedCall): z.ZodType<Answer<EmbeddingResult>> {
  const vectors = z.array(z.unknown()).max(MAX_VECTORS).pipe(z.array(Vector));
  return answerOf<EmbeddingResult>(
    z.object({
      items: z.array(z.unknown()).length(items.length).pipe(z.array(vectors)),
      query: query === null ? z.null() : Vector,
    }),
  );
}

function sizeOf(op: StoreOp): number {
  if (op.op === "search") {
    return bytesInMessage(op.prefix) + (op.vector?.byteLength ?? 0) + filterBytes(op.filter);
  }
  if (op.op === "namespaces")
    return op.conditions.reduce((sum, { path }) => sum + bytesInMessage(path), OVERHEAD_BYTES);
  if (op.op !== "put") return bytesInMessage({ ...op, value: "" });
  return op.vectors.reduce((sum, { byteLength }) => sum + byteLength, bytesInMessage(op));
}

/** Estimates the bytes of a filter in memory, which are more than those in a message. */
function filterBytes(filter: unknown): number {
  if (typeof filter === "string") return NODE_BYTES + 2 * filter.length;
  if (typeof filter !== "object" || filter === null) return NODE_BYTES;
  const ofFields = ([name, value]: [string, unknown]) => 2 * name.length + filterBytes(value);
  return Object.entries(filter).reduce((sum, field) => sum + ofFields(field), NODE_BYTES);
}

function isObjectText(text: string): boolean {
  // `problemOf` refuses a longer text: it is not parsed here.
  if (text.length > MAX_ITEM_BYTES) return text.startsWith("{");
  try {
    return text.startsWith("{") && isShallow(JSON.parse(text));
  } catch {
    return false;
  }
}

function pathOf({ issues: [first] }: z.ZodError): PropertyKey[] {
  return first?.path ?? [];
}

function messageOf({ issues: [first] }: z.ZodError): string {
  return first?.message ?? "is not an operation";
}

function refuse(message: string): { ok: false; refusal: StoreRefusal } {
  return { ok: false, refusal: { code: "invalid_request", message } };
}
