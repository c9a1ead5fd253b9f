import type { Host } from "../contract.ts";
import { track } from "../pending-work.ts";
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

type Value = Record<string, unknown>;

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

type Waiting = {
  operation: StoreOperation;
  resolve(result: unknown): void;
  reject(error: unknown): void;
};

/** Error of a rejected operation; the message names the field and the rule. */
export class StoreError extends Error {
  override name = "StoreError";
}

/**
 * Store of the deployment with the interface of LangGraph's BaseStore, for agents without LangGraph
 * too. Batches operations of one tick.
 */
export class HostStore {
  readonly #host: Pick<Host, "store">;
  #waiting: Waiting[] = [];

  constructor(host: Pick<Host, "store">) {
    this.#host = host;
  }

  async get(namespace: string[], key: string): Promise<Item | null> {
    return (await this.#enqueue({ namespace, key })) as Item | null;
  }

  async search(namespacePrefix: string[], options: SearchOptions = {}): Promise<Item[]> {
    return (await this.#enqueue({ namespacePrefix, ...options })) as Item[];
  }

  async put(namespace: string[], key: string, value: Value, index?: IndexChoice): Promise<void> {
    await this.#enqueue({ namespace, key, value, index });
  }

  async delete(namespace: string[], key: string): Promise<void> {
    await this.#enqueue({ namespace, key, value: null });
  }

  async listNamespaces(
    options: {
      prefix?: string[];
      suffix?: string[];
      maxDepth?: number;
      limit?: number;
      offset?: number;
    } = {},
  ): Promise<string[][]> {
    const { prefix, suffix, ...page } = options;
    const matchConditions = [
      ...(prefix ? [{ matchType: "prefix" as const, path: prefix }] : []),
      ...(suffix ? [{ matchType: "suffix" as const, path: suffix }] : []),
    ];
    return (await this.#enqueue({ matchConditions, ...page })) as string[][];
  }

  start() {}
  stop() {}

  async batch(operations: StoreOperation[]): Promise<unknown[]> {
    const answer = await track(this.#host.store(await toOps(operations)));
    if (!answer.ok) throw new StoreError(answer.refusal.message);
    return answer.results.map(toResult);
  }

  #enqueue(operation: StoreOperation): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ operation, resolve, reject });
      if (this.#waiting.length === 1) queueMicrotask(() => this.#send());
    });
  }

  /** Fails a rejected operation alone: the rest of its batch is sent again without it. */
  async #send() {
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      const results = await this.batch(waiting.map(({ operation }) => operation));
      for (const [n, { resolve }] of waiting.entries()) resolve(results[n]);
    } catch (error) {
      const isOfOne = error instanceof StoreError && waiting.length > 1;
      if (isOfOne) await Promise.all(waiting.map((one) => this.#sendAlone(one)));
      else for (const { reject } of waiting) reject(error);
    }
  }

  async #sendAlone({ operation, resolve, reject }: Waiting) {
    try {
      resolve((await this.batch([operation]))[0]);
    } catch (error) {
      reject(error);
    }
  }
}

async function toOps(operations: StoreOperation[]): Promise<StoreOp[]> {
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
    return { op: "search", prefix: labels(prefix), filter, limit, offset, vector: null, refresh };
  }
  if (!("namespace" in operation)) {
    const { matchConditions = [], maxDepth = null, limit = 100, offset = 0 } = operation;
    const conditions = matchConditions.map(
      ({ matchType, path }): NamespaceCondition => ({ match: matchType, path: labels(path) }),
    );
    return { op: "namespaces", conditions, max_depth: maxDepth, limit, offset };
  }
  const namespace = labels(operation.namespace);
  const key = String(operation.key);
  if (!("value" in operation)) return { op: "get", namespace, key, refresh };
  if (operation.value === null) return { op: "delete", namespace, key };
  const value = toWire(operation.value);
  return { op: "put", namespace, key, value, vectors: [], ttl_ms: ttl.default_ms };
}

function labels(namespace: unknown): string[] {
  if (Array.isArray(namespace) && namespace.every((label) => typeof label === "string")) {
    return namespace;
  }
  throw new StoreError(`A namespace must be a list of strings, not ${JSON.stringify(namespace)}.`);
}

function toResult(result: StoreResult): unknown {
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
