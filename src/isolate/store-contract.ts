/** RPC contract between the store's object, threads and isolates. Plain data only. */

export type NamespaceCondition = { match: "prefix" | "suffix"; path: string[] };

export type StoreOp =
  | {
      op: "get";
      namespace: string[];
      key: string;
      /** Renews the TTL of the items read. */
      refresh: boolean;
    }
  | {
      op: "put";
      namespace: string[];
      key: string;
      /** JSON text of an object. */
      value: string;
      /** Vectors of the item; none when it is not searchable by meaning. */
      vectors: Float32Array[];
      /** `null` for items that never expire. */
      ttl_ms: number | null;
    }
  | { op: "delete"; namespace: string[]; key: string }
  | {
      op: "search";
      prefix: string[];
      filter: Record<string, unknown> | null;
      /** Vector of the query; `null` sorts newest first. */
      vector: Float32Array | null;
      limit: number;
      offset: number;
      refresh: boolean;
    }
  | {
      op: "namespaces";
      conditions: NamespaceCondition[];
      max_depth: number | null;
      limit: number;
      offset: number;
    };

export type StoredItem = {
  namespace: string[];
  key: string;
  /** JSON text. */
  value: string;
  /** Milliseconds. */
  created_at: number;
  updated_at: number;
  /** Cosine similarity to the query, `null` without a query. */
  score: number | null;
};

/** Item or `null` of a `get`, items of a `search`, namespaces of `namespaces`, else `null`. */
export type StoreResult = StoredItem | StoredItem[] | string[][] | null;

export type StoreRefusal = {
  code: "bad_request" | "invalid_request" | "forbidden" | "too_large" | "unavailable";
  message: string;
  /** Whether the namespace of an operation is refused. */
  is_namespace?: boolean;
};

/** Atomic while the store is one object: all operations of a batch, or none. A divided store: for each object. */
export type StoreAnswer =
  | { ok: true; results: StoreResult[] }
  | { ok: false; refusal: StoreRefusal };

/** `null` indexes the configured fields, false none. */
export type IndexChoice = string[] | false | null;

export type EmbedCall = {
  /** Values as JSON text. */
  items: { value: string; index: IndexChoice }[];
  query: string | null;
};
export type EmbeddingResult = { items: Float32Array[][]; query: Float32Array | null };
