import type {
  EmbedCall,
  IndexChoice,
  NamespaceCondition,
  StoredItem,
  StoreOp,
  StoreResult,
} from "../store-contract.ts";
import { toWire } from "../wire.ts";
import { embed, isIndexed, ttl } from "./embedding.ts";

export type Value = Record<string, unknown>;

export type Item = {
  namespace: string[];
  key: string;
  value: Value;
  createdAt: Date;
  updatedAt: Date;
  score?: number;
};

export type SearchOptions = {
  filter?: Record<string, unknown> | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
  query?: string | undefined;
};

/** Operations of LangGraph's `BaseStore.batch`, distinguished by their fields. */
export type StoreOperation =
  | { namespace: string[]; key: string }
  | { namespace: string[]; key: string; value: Value | null; index?: IndexChoice | undefined }
  | ({ namespacePrefix: string[] } & SearchOptions)
  | {
      matchConditions?: { matchType: "prefix" | "suffix"; path: string[] }[] | undefined;
      maxDepth?: number | undefined;
      limit?: number | undefined;
      offset?: number | undefined;
    };

/** Error of an operation that the store refused. */
export class StoreError extends Error {
  override name = "StoreError";
  readonly #isOfNamespace: boolean;

  constructor(message: string, { is_namespace = false } = {}) {
    super(message);
    this.#isOfNamespace = is_namespace;
  }

  get isOfNamespace(): boolean {
    return this.#isOfNamespace;
  }
}

export async function toOps(operations: StoreOperation[]): Promise<StoreOp[]> {
  const ops = operations.map(toOp);
  if (!isIndexed) return ops;
  const indexes = operations.map((operation) => ("index" in operation ? operation.index : null));
  const puts = ops.flatMap((op, n) => (op.op === "put" ? [{ op, index: indexes[n] ?? null }] : []));
  const items: EmbedCall["items"] = puts.map(({ op, index }) => ({ value: op.value, index }));
  const embedded = items.length > 0 ? await embed({ items, query: null }) : null;
  for (const [n, { op }] of puts.entries()) op.vectors = embedded?.items[n] ?? [];
  await Promise.all(
    ops.map(async (op, n) => {
      const query = queryOf(operations[n]);
      if (op.op === "search" && query) op.vector = (await embed({ items: [], query })).query;
    }),
  );
  return ops;
}

function queryOf(operation: StoreOperation | undefined): string | null {
  return operation && "namespacePrefix" in operation ? (operation.query ?? null) : null;
}

function toOp(operation: StoreOperation): StoreOp {
  const refresh = ttl.refresh_on_read;
  if ("namespacePrefix" in operation) {
    const { namespacePrefix: prefix, filter = null, limit = 10, offset = 0 } = operation;
    return {
      op: "search",
      prefix: parseNamespace(prefix),
      filter,
      limit,
      offset,
      vector: null,
      refresh,
    };
  }
  if (!("namespace" in operation)) {
    const { matchConditions = [], maxDepth = null, limit = 100, offset = 0 } = operation;
    const conditions = matchConditions.map(
      ({ matchType, path }): NamespaceCondition => ({
        match: matchType,
        path: parseNamespace(path),
      }),
    );
    return { op: "namespaces", conditions, max_depth: maxDepth, limit, offset };
  }
  const namespace = parseNamespace(operation.namespace);
  const key = String(operation.key);
  if (!("value" in operation)) return { op: "get", namespace, key, refresh };
  if (operation.value === null) return { op: "delete", namespace, key };
  const value = toWire(operation.value);
  return { op: "put", namespace, key, value, vectors: [], ttl_ms: ttl.default_ms };
}

/** @throws StoreError when the namespace is not a list of strings */
function parseNamespace(namespace: unknown): string[] {
  if (Array.isArray(namespace) && namespace.every((label) => typeof label === "string")) {
    return namespace;
  }
  const text = `A namespace must be a list of strings, not ${JSON.stringify(namespace)}.`;
  throw new StoreError(text, { is_namespace: true });
}

export function toResult(result: StoreResult): unknown {
  if (!Array.isArray(result)) return result && toItem(result);
  return result.map((one) => (Array.isArray(one) ? one : toItem(one)));
}

function toItem({ value, created_at, updated_at, score, namespace, key }: StoredItem): Item {
  return {
    namespace,
    key,
    value: JSON.parse(value),
    createdAt: new Date(created_at),
    updatedAt: new Date(updated_at),
    ...(score !== null && { score }),
  };
}
