/** RPC contract of the `Auth` that langgraph.json names. Plain data only. */

/** Request without its body. */
export type WireRequest = { url: string; method: string; headers: [string, string][] };

/** User that `authenticate` returned, with all its fields. The named fields have defaults, except `identity`. */
export type AuthUser = {
  identity: string;
  permissions: string[];
  display_name: string;
  is_authenticated: boolean;
  [field: string]: unknown;
};

export type AuthResource = "assistants" | "threads" | "crons" | "store";

export type AuthCall = {
  user: AuthUser;
  resource: AuthResource;
  action: string;
  value: Record<string, unknown>;
};

type Scalar = string | number | boolean | null;

/**
 * Filters on the metadata of a row, or on the namespace, the key and the fields of a store item. `null` matches all.
 */
export type WireFilters = Record<string, { eq: Scalar } | { contains: Scalar[] }> | null;

/** Value as the handler left it. */
export type AuthVerdict = { value: Record<string, unknown>; filters: WireFilters };

/** Error thrown on purpose, or the public text of a bug in the handler. */
export type AuthRefusal = { status: number; message: string; headers: [string, string][] };

export type AuthResult<T> = { ok: true; value: T } | { ok: false; refusal: AuthRefusal };

/** Methods of the entrypoint `Agent` beside its graphs. */
export interface AuthEntrypoint {
  authenticateRequest(request: WireRequest): Promise<AuthResult<AuthUser>>;
  authorize(call: AuthCall): Promise<AuthResult<AuthVerdict>>;
  /** Matches the whole text against a regular expression of langgraph.json. */
  matchesPattern(pattern: string, text: string): Promise<boolean>;
}
