/** RPC contract between the store's Durable Objects, threads and isolates. Plain data only. */

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
      /** JSON object as text. */
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
  /** Milliseconds since 1970. */
  created_at: number;
  /** Milliseconds since 1970. */
  updated_at: number;
  /** Cosine similarity to the query, `null` without a query. */
  score: number | null;
};

/** Item or `null` of a `get`, items of a `search`, namespaces of `namespaces`, else `null`. */
export type StoreResult = StoredItem | StoredItem[] | string[][] | null;

export type StoreRefusal = {
  code: "bad_request" | "invalid_request" | "forbidden" | "too_large" | "unavailable";
  message: string;
  /** Whether the refusal is about the namespace. */
  is_namespace?: boolean;
  /** Bytes of the results, when they exceed the limit of an answer. */
  bytes?: number;
};

/** A batch is atomic in each Durable Object of the store. A store that is not divided has only one. */
export type StoreAnswer =
  | { ok: true; results: StoreResult[] }
  | { ok: false; refusal: StoreRefusal };

/** Fields to index: `null` for the configured ones, `false` for none. */
export type IndexChoice = string[] | false | null;

export type EmbedCall = {
  /** Values as JSON text. */
  items: { value: string; index: IndexChoice }[];
  query: string | null;
};
export type EmbeddingResult = { items: Float32Array[][]; query: Float32Array | null };
