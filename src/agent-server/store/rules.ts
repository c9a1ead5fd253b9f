import type { NamespaceCondition, StoreOp, StoreRefusal } from "../../isolate/store-contract.ts";
import { filterProblem } from "./storage/filter.ts";
import {
  MAX_DIMS,
  MAX_ITEM_BYTES,
  MAX_KEY_CHARACTERS,
  MAX_LABELS,
  MAX_LIMIT,
  MAX_NAMESPACE_CHARACTERS,
  MAX_OPS,
  MAX_TTL_MS,
  MAX_VECTORS,
} from "./storage/limits.ts";

/** First label that LangGraph reserves: writes below it are refused. */
const RESERVED_ROOT = "langgraph";

/** @returns the refusal of the first invalid operation, `null` when all are valid */
export function problemOf(ops: StoreOp[]): StoreRefusal | null {
  if (ops.length > MAX_OPS) {
    return invalid(`a batch has at most ${MAX_OPS} operations; this one has ${ops.length}.`);
  }
  for (const op of ops) {
    const problem = problemOfOne(op);
    if (problem) return problem;
  }
  return null;
}

function problemOfOne(op: StoreOp): StoreRefusal | null {
  switch (op.op) {
    case "get":
      return namespaceProblem(op.namespace) ?? keyProblem(op.key);
    case "delete":
      return namespaceProblem(op.namespace) ?? rootProblem(op.namespace) ?? keyProblem(op.key);
    case "put":
      return putProblem(op);
    case "search":
      return (
        labelsProblem("namespace_prefix", op.prefix) ??
        (op.filter && filterProblem(op.filter)) ??
        pageProblem(op) ??
        (op.vector && vectorsProblem([op.vector]))
      );
    case "namespaces":
      return conditionsProblem(op.conditions) ?? depthProblem(op.max_depth) ?? pageProblem(op);
  }
}

function putProblem(op: Extract<StoreOp, { op: "put" }>): StoreRefusal | null {
  const { namespace, key, value, vectors, ttl_ms } = op;
  return (
    namespaceProblem(namespace) ??
    rootProblem(namespace) ??
    keyProblem(key) ??
    valueProblem(op, value) ??
    vectorsProblem(vectors) ??
    ttlProblem(ttl_ms)
  );
}

function namespaceProblem(namespace: string[]): StoreRefusal | null {
  if (namespace.length === 0)
    return { code: "bad_request", message: "Namespace is required", is_namespace: true };
  return labelsProblem("namespace", namespace);
}

function labelsProblem(field: string, labels: string[]): StoreRefusal | null {
  if (labels.length > MAX_LABELS)
    return invalidNamespace(`${field}: must have at most ${MAX_LABELS} labels.`);
  const odd = labels.find((label) => label === "" || label.includes("."));
  if (odd !== undefined) {
    const text = `Namespace labels cannot be empty or contain periods. Received: ${JSON.stringify(labels)}`;
    return invalidNamespace(`${field}: ${text}`);
  }
  if (labels.some((label) => !isText(label))) {
    return invalidNamespace(`${field}: labels must be valid Unicode without NUL.`);
  }
  const characters = labels.reduce((sum, { length }) => sum + length, 0);
  if (characters <= MAX_NAMESPACE_CHARACTERS) return null;
  return invalidNamespace(`${field}: must have at most ${MAX_NAMESPACE_CHARACTERS} characters.`);
}

function rootProblem([root]: string[]): StoreRefusal | null {
  if (root !== RESERVED_ROOT) return null;
  return invalidNamespace(`namespace: the first label cannot be "${RESERVED_ROOT}".`);
}

function keyProblem(key: string): StoreRefusal | null {
  if (key === "") return invalid("key: cannot be empty.");
  if (!isText(key)) return invalid("key: must be valid Unicode without NUL.");
  if (key.length <= MAX_KEY_CHARACTERS) return null;
  return invalid(`key: must have at most ${MAX_KEY_CHARACTERS} characters.`);
}

function valueProblem({ namespace, key }: { namespace: string[]; key: string }, value: string) {
  if (!value.startsWith("{")) return invalid("value: must be an object.");
  const bytes = new TextEncoder().encode(namespace.join(".") + key + value).byteLength;
  if (bytes <= MAX_ITEM_BYTES) return null;
  const text = `value: an item has at most ${MAX_ITEM_BYTES} bytes of JSON with its namespace and key; this one has ${bytes}: split it.`;
  return { code: "too_large", message: text } as const;
}

function vectorsProblem(vectors: Float32Array[]): StoreRefusal | null {
  if (vectors.length > MAX_VECTORS) {
    const text = `index: must select at most ${MAX_VECTORS} texts of an item; it selects ${vectors.length}.`;
    return invalid(text);
  }
  if (vectors.some((vector) => vector.length === 0 || vector.length > MAX_DIMS)) {
    return invalid(`store.index.embed: a vector has 1 to ${MAX_DIMS} numbers.`);
  }
  if (vectors.every((vector) => vector.every(Number.isFinite))) return null;
  return invalid("store.index.embed: vectors must contain only finite numbers.");
}

function ttlProblem(ttl_ms: number | null): StoreRefusal | null {
  if (ttl_ms === null || (ttl_ms > 0 && ttl_ms <= MAX_TTL_MS)) return null;
  return invalid("ttl: must be more than 0 minutes and less than a hundred years, or null.");
}

function conditionsProblem(conditions: NamespaceCondition[]): StoreRefusal | null {
  for (const { match, path } of conditions) {
    const problem = labelsProblem(match, path);
    if (problem) return problem;
  }
  return null;
}

function depthProblem(max_depth: number | null): StoreRefusal | null {
  if (max_depth === null || (Number.isInteger(max_depth) && max_depth >= 1)) return null;
  return invalid("max_depth: must be 1 or more.");
}

function pageProblem({ limit, offset }: { limit: number; offset: number }): StoreRefusal | null {
  const isPage = Number.isInteger(limit) && Number.isInteger(offset) && offset >= 0;
  if (isPage && limit >= 1 && limit <= MAX_LIMIT) return null;
  return invalid(`limit must be 1 to ${MAX_LIMIT} and offset 0 or more.`);
}

/**
 * Whether the text is valid Unicode without two characters: functions of SQLite end a text at NUL, and U+10FFFF ends
 * the range of all namespaces.
 */
function isText(text: string): boolean {
  return text.isWellFormed() && !/[\0\u{10ffff}]/u.test(text);
}

function invalid(message: string): StoreRefusal {
  return { code: "invalid_request", message };
}

function invalidNamespace(message: string): StoreRefusal {
  return { ...invalid(message), is_namespace: true };
}
