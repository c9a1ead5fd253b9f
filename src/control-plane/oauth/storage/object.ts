import { DurableObject } from "cloudflare:workers";
import { decrypt, encrypt, parseKeys, type SealedText } from "../../../shared/crypto/crypto.ts";
import { SerialQueue } from "../../../shared/work/serial-queue.ts";
import type { Grant, ProviderAccess, ProviderFailure } from "../client/provider-access.ts";
import { requestGrant } from "../client/provider-client.ts";
import { type RevocationResult, revokeGrant } from "../client/revoke.ts";

type Times = Pick<Grant, "expires_at" | "refresh_at">;
type PlainTokens = Pick<Grant, "access_token" | "refresh_token" | "token_type">;
type OpenedToken = Times & PlainTokens;
/** The times are not encrypted. `tokens` are `PlainTokens`, encrypted. */
type StoredToken = Times & { tokens: SealedText };

export type TokenResult =
  | {
      ok: true;
      access_token: string;
      expires_at: string | null;
      /** Set when this call refreshed the token, or waited for a refresh of another call; otherwise `null`. */
      refreshed: { scopes: string[] | null } | null;
    }
  | ProviderFailure;

const GRANT_KEY = "grant";

/**
 * Holds the grant of one token. The token id is the object's name. Only this object refreshes and revokes the grant.
 */
export class TokenObject extends DurableObject<Env> {
  /** Runs one change of the grant at a time: a refresh during a revocation would leave a new, valid token. */
  readonly #queue = new SerialQueue();
  #refreshing: Promise<TokenResult> | null = null;

  async store(token_id: string, grant: Grant): Promise<void> {
    await this.#queue.run(() => this.#write(token_id, grant));
  }

  /** Returns the access token. It is refreshed before it expires, once for concurrent callers. */
  async read(token_id: string, provider: ProviderAccess): Promise<TokenResult> {
    const stored = this.#readStored();
    if (stored === null) return endedFailure(provider);
    if (isFresh(stored)) return this.#toResult(token_id, stored, null);
    this.#refreshing ??= this.#queue
      .run(() => this.#refresh(token_id, provider))
      .finally(() => {
        this.#refreshing = null;
      });
    return this.#refreshing;
  }

  /**
   * Revokes the token at the provider, then deletes it.
   * @returns `revoked` also when no grant is stored, because a repeated call succeeds
   */
  async revoke(
    token_id: string,
    provider: ProviderAccess,
  ): Promise<RevocationResult | ProviderFailure> {
    return this.#queue.run(async () => {
      const stored = this.#readStored();
      if (stored === null) return { ok: true, outcome: "revoked", revocation_url: null };
      const answer = await revokeGrant(this.env, provider, await this.#open(token_id, stored));
      if (answer.ok) await this.ctx.storage.deleteAll();
      return answer;
    });
  }

  async delete(): Promise<void> {
    await this.#queue.run(() => this.ctx.storage.deleteAll());
  }

  /**
   * Encrypts the grant with the current key.
   * @returns the id of that key
   */
  async reseal(token_id: string): Promise<string> {
    return this.#queue.run(async () => {
      const { key_id } = parseKeys(this.env)[0];
      const stored = this.#readStored();
      if (stored !== null && stored.tokens.key_id !== key_id) {
        await this.#write(token_id, { ...stored, ...(await this.#open(token_id, stored)) });
      }
      return key_id;
    });
  }

  async #refresh(token_id: string, provider: ProviderAccess): Promise<TokenResult> {
    const stored = this.#readStored();
    if (stored === null) return endedFailure(provider);
    if (isFresh(stored)) return this.#toResult(token_id, stored, null);
    const tokens = await this.#open(token_id, stored);
    if (tokens.refresh_token === null)
      return this.#resultWithoutRefresh(stored, tokens, endedFailure(provider));
    const answer = await requestGrant(this.env, provider, {
      grant_type: "refresh_token",
      refresh_token: tokens.refresh_token,
    });
    if (answer.ok) {
      const { grant } = answer;
      const next = { ...grant, refresh_token: grant.refresh_token ?? tokens.refresh_token };
      const written = await this.#write(token_id, next);
      return this.#toResult(token_id, written, { scopes: grant.scopes });
    }
    if (answer.reason === "ended") {
      await this.#write(token_id, { ...stored, ...tokens, refresh_token: null });
    }
    return this.#resultWithoutRefresh(stored, tokens, answer);
  }

  /** Returns the current access token until it expires, then the failure of the refresh. */
  #resultWithoutRefresh(
    stored: StoredToken,
    { access_token }: PlainTokens,
    failure: ProviderFailure,
  ): TokenResult {
    const { expires_at } = stored;
    if (expires_at !== null && Date.parse(expires_at) <= Date.now()) return failure;
    return { ok: true, access_token, expires_at, refreshed: null };
  }

  async #toResult(
    token_id: string,
    stored: StoredToken,
    refreshed: { scopes: string[] | null } | null,
  ): Promise<TokenResult> {
    const { access_token } = await this.#open(token_id, stored);
    return { ok: true, access_token, expires_at: stored.expires_at, refreshed };
  }

  #readStored(): StoredToken | null {
    return this.ctx.storage.kv.get<StoredToken>(GRANT_KEY) ?? null;
  }

  async #open(token_id: string, { tokens }: StoredToken): Promise<PlainTokens> {
    return JSON.parse(await decrypt(this.env, tokens, sealOwner(token_id)));
  }

  async #write(
    token_id: string,
    { expires_at, refresh_at, access_token, refresh_token, token_type }: OpenedToken,
  ): Promise<StoredToken> {
    const plain = JSON.stringify({ access_token, refresh_token, token_type });
    const tokens = await encrypt(this.env, plain, sealOwner(token_id));
    const stored = { expires_at, refresh_at, tokens };
    this.ctx.storage.kv.put(GRANT_KEY, stored);
    return stored;
  }
}

function isFresh({ refresh_at }: StoredToken): boolean {
  return refresh_at === null || Date.parse(refresh_at) > Date.now();
}

function endedFailure({ provider_id }: ProviderAccess): ProviderFailure {
  return { ok: false, reason: "ended", message: `The token of ${provider_id} has ended.` };
}

/** Ties the ciphertext to its token. */
function sealOwner(token_id: string): string {
  return `oauth_token:${token_id}`;
}
