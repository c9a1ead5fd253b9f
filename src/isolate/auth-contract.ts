/** What the Worker asks of the `Auth` that langgraph.json names. Plain data only. */

/** A request without its body. */
export type WireRequest = { url: string; method: string; headers: [string, string][] };

/** Who asks, as `authenticate` says it, with all that it says. */
export type AgentUser = {
  identity: string;
  permissions: string[];
  display_name: string;
  is_authenticated: boolean;
  [field: string]: unknown;
};

export type AuthResource = "assistants" | "threads" | "crons" | "store";

export type AuthCall = {
  user: AgentUser;
  resource: AuthResource;
  action: string;
  value: Record<string, unknown>;
};

type Scalar = string | number | boolean | null;

/** Of the rows' metadata; null: all rows. */
export type WireFilters = Record<string, { eq: Scalar } | { contains: Scalar[] }> | null;

/** The value as the handler left it. */
export type AuthVerdict = { value: Record<string, unknown>; filters: WireFilters };

/** What was thrown on purpose, or what the caller may hear of a mistake in the code. */
export type AuthRefusal = { status: number; message: string; headers: [string, string][] };

export type AuthAnswered<T> = { ok: true; value: T } | { ok: false; refusal: AuthRefusal };

/** What the entrypoint `Agent` has beside its graphs. */
export interface AuthEntrypoint {
  authenticateRequest(request: WireRequest): Promise<AuthAnswered<AgentUser>>;
  authorize(call: AuthCall): Promise<AuthAnswered<AuthVerdict>>;
  /** Of the whole text, by a regular expression that langgraph.json names. */
  matchesPattern(pattern: string, text: string): Promise<boolean>;
}
