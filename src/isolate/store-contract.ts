/** What the store's object, the threads between and the isolates say to each other. Plain data only. */

export type NamespaceCondition = { match: "prefix" | "suffix"; path: string[] };

export type StoreOp =
  | {
      op: "get";
      namespace: string[];
      key: string;
      /** An item that ends lives on from now for as long as it was given. */
      refresh: boolean;
    }
  | {
      op: "put";
      namespace: string[];
      key: string;
      /** JSON text of an object. */
      value: string;
      /** What of the item is found by meaning; none: nothing. */
      vectors: Float32Array[];
      /** Null: it never ends. */
      ttl_ms: number | null;
    }
  | { op: "delete"; namespace: string[]; key: string }
  | {
      op: "search";
      prefix: string[];
      filter: Record<string, unknown> | null;
      /** The query's; null: newest first. */
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
  /** Cosine of the angle to the query; null where there was none. */
  score: number | null;
};

/** Of a `get` an item or null, of a `search` items, of `namespaces` those, of the others null. */
export type StoreResult = StoredItem | StoredItem[] | string[][] | null;

export type StoreRefusal = {
  code: "bad_request" | "invalid_request" | "forbidden" | "too_large" | "unavailable";
  message: string;
};

/** All of a batch happens or none of it. */
export type StoreAnswer =
  | { ok: true; results: StoreResult[] }
  | { ok: false; refusal: StoreRefusal };

/** Null: by the fields that the configuration names; false: not at all. */
export type IndexChoice = string[] | false | null;

export type EmbedCall = {
  /** Values as JSON text. */
  items: { value: string; index: IndexChoice }[];
  query: string | null;
};
export type Embedded = { items: Float32Array[][]; query: Float32Array | null };
