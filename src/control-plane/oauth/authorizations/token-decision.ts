// Selects which token of an owner an agent gets.

export type Candidate = {
  id: string;
  agent_id: string | null;
  scopes: readonly string[];
  requested_scopes: readonly string[];
  is_default: boolean;
  created_at: string;
};

export type TokenRequest = {
  scopes: readonly string[];
  agent_id: string | null;
  token_id: string | null;
  force_new: boolean;
};

/**
 * `read` returns the token. `connect`: its owner must connect it to the agent first. `consent` requests a new consent,
 * which renews `token`, or adds a token when it is `null`. `refuse`: `token_id` is none of the tokens.
 */
type TokenDecision<T> =
  | { do: "read" | "connect"; token: T }
  | { do: "consent"; token: T | null }
  | { do: "refuse" };

export function decideToken<T extends Candidate>(
  tokens: readonly T[],
  wanted: TokenRequest,
  connected: ReadonlySet<string>,
): TokenDecision<T> {
  if (wanted.token_id !== null) {
    const token = tokens.find(({ id }) => id === wanted.token_id);
    if (!token) return { do: "refuse" };
    if (!isFor(token, wanted.agent_id, connected)) return { do: "connect", token };
    return { do: wanted.force_new ? "consent" : "read", token };
  }
  const token = wanted.force_new ? null : chooseToken(tokens, wanted, connected);
  return token === null ? { do: "consent", token } : { do: "read", token };
}

/** A token made for one agent is for that agent alone, unless its owner connected it to another. */
function isFor(token: Candidate, agent_id: string | null, connected: ReadonlySet<string>): boolean {
  return token.agent_id === null || token.agent_id === agent_id || connected.has(token.id);
}

/**
 * Counts requested scopes as granted. A provider may grant fewer or rename them, and a new consent would not change
 * that.
 */
function covers(token: Candidate, scopes: readonly string[]): boolean {
  const had = new Set([...token.scopes, ...token.requested_scopes]);
  return scopes.every((scope) => had.has(scope));
}

/** Prefers connected tokens, then the agent's own, the owner's default, the newest. */
function chooseToken<T extends Candidate>(
  tokens: readonly T[],
  { scopes, agent_id }: Pick<TokenRequest, "scopes" | "agent_id">,
  connected: ReadonlySet<string>,
): T | null {
  const rank = (token: T) => [
    connected.has(token.id) ? 1 : 0,
    token.agent_id === agent_id ? 1 : 0,
    token.is_default ? 1 : 0,
  ];
  const usable = tokens.filter(
    (token) => isFor(token, agent_id, connected) && covers(token, scopes),
  );
  const sorted = usable.toSorted((a, b) => {
    const [ours, theirs] = [rank(a), rank(b)];
    const differing = ours.findIndex((value, index) => value !== theirs[index]);
    if (differing >= 0) return (theirs[differing] ?? 0) - (ours[differing] ?? 0);
    return b.created_at.localeCompare(a.created_at);
  });
  return sorted[0] ?? null;
}
