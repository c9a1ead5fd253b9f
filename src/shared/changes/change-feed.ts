import { asc, gte, sql } from "drizzle-orm";
import { type Database, database } from "../context.ts";
import { log } from "../log.ts";
import { withTimeout } from "../work/timeout.ts";
import { changes } from "./table.ts";

/** Maximum time for which a request waits for a poll of D1. */
const DEADLINE_MS = 2000;
/** Time after a failed poll in which requests do not poll again. */
const RETRY_MS = 1000;
/** Time for which requests use their cached records longer while another request polls. */
const POLLING_MS = 1000;
const MAX_CHANGES = 1000;
/** Time without a failure after which an outage is over. An answer between two failures does not end it. */
const QUIET_MS = 30_000;

type Change = typeof changes.$inferSelect;

/** `null` means that any record may have changed. */
type Listener = (scopes: ReadonlySet<string> | null) => void;

/** Whether `now` is in the `ms` after `at`. Checks both ends: a clock that is set back leaves times in the future. */
function isWithin(now: number, at: number, ms: number): boolean {
  return now >= at && now < at + ms;
}

function refuse(): never {
  throw new Error(`D1 did not answer in ${DEADLINE_MS} ms`);
}

/**
 * Versions of deployments and organizations that an isolate has read. One statement shows whether any of the cached
 * records has changed, however many there are.
 */
export class ChangeFeed {
  readonly #listeners: Listener[] = [];
  #version: number | null = null;
  #confirmedAt = Number.NEGATIVE_INFINITY;
  #pollingSince = Number.NEGATIVE_INFINITY;
  #failedAt = Number.NEGATIVE_INFINITY;
  #outageBeganAt: number | null = null;
  /** Times of changes in epoch milliseconds, oldest first. */
  readonly #changedAt = new Map<string, number>();
  #anyChangedAt = Number.NEGATIVE_INFINITY;

  subscribe(listener: Listener): void {
    this.#listeners.push(listener);
  }

  /** Version of the newest known change; `null` before the first poll. */
  get version(): number | null {
    return this.#version;
  }

  /** Time at which the last successful poll began, in epoch milliseconds. Each cached record was current then. */
  get confirmedAt(): number {
    return this.#confirmedAt;
  }

  /** Records changes that this isolate has made or read. `null`: of any scope. */
  noteChanges(scopes: ReadonlySet<string> | null): void {
    const now = Date.now();
    if (scopes === null) this.#anyChangedAt = now;
    for (const scope of scopes ?? []) {
      this.#changedAt.delete(scope);
      this.#changedAt.set(scope, now);
    }
    for (const [scope, at] of this.#changedAt) {
      if (this.#changedAt.size <= MAX_CHANGES) return;
      this.#changedAt.delete(scope);
      this.#anyChangedAt = Math.max(this.#anyChangedAt, at);
    }
  }

  /** Whether this isolate has made or read a change of the scope since `at`, in epoch milliseconds, or may have. */
  mayHaveChangedSince(scope: string, at: number): boolean {
    const changed_at = this.#changedAt.get(scope) ?? Number.NEGATIVE_INFINITY;
    return Math.max(changed_at, this.#anyChangedAt) >= at;
  }

  /**
   * Polls unless a poll is less than `max_age_ms` old.
   * @returns `false` when D1 does not answer, or has not answered a moment ago
   */
  async poll(env: Env, max_age_ms: number): Promise<boolean> {
    const now = Date.now();
    if (isWithin(now, this.#confirmedAt, max_age_ms)) return true;
    const isPolling = max_age_ms > 0 && isWithin(now, this.#pollingSince, DEADLINE_MS);
    // While another poll is under way, records stay current for POLLING_MS more, and no longer.
    if (isPolling && isWithin(now, this.#confirmedAt, max_age_ms + POLLING_MS)) return true;
    // After a failure, only one request polls. The others do not wait for its answer.
    const isWaiting = isPolling && this.#failedAt > this.#confirmedAt;
    if (isWaiting || isWithin(now, this.#failedAt, RETRY_MS)) return false;
    this.#pollingSince = now;
    try {
      const since = this.#version;
      const found = readChanges(database(env), since);
      this.#publish(since, await withTimeout(found, DEADLINE_MS, refuse));
      this.#confirmedAt = now;
      this.#endOutage();
      return true;
    } catch (error) {
      this.#fail(error);
      return false;
    } finally {
      this.#pollingSince = Number.NEGATIVE_INFINITY;
    }
  }

  /** Logs the first failure of an outage. */
  #fail(error: unknown) {
    this.#failedAt = Date.now();
    if (this.#outageBeganAt === null) log.error("database_outage_began", error);
    this.#outageBeganAt ??= this.#failedAt;
  }

  #endOutage() {
    if (this.#outageBeganAt === null || isWithin(Date.now(), this.#failedAt, QUIET_MS)) return;
    log.info("database_outage_ended", { after_ms: this.#failedAt - this.#outageBeganAt });
    this.#outageBeganAt = null;
  }

  #publish(since: number | null, found: Change[]) {
    const known = this.#version;
    const newest = found.at(-1)?.version ?? 0;
    // The second condition: another poll has published a later state since this one began.
    if (newest === known || (since !== known && newest < (known ?? 0))) return;
    // Time travel of D1 leaves versions below the known one: the next poll begins anew.
    this.#version = newest < (known ?? 0) ? null : newest;
    const scopes = this.#version === null ? null : scopesAfter(since, found);
    if (since !== null) this.noteChanges(scopes);
    for (const listener of this.#listeners) listener(scopes);
  }
}

/** @returns `null` when other scopes may have changed too */
function scopesAfter(since: number | null, found: Change[]): ReadonlySet<string> | null {
  if (since === null || found.length === MAX_CHANGES) return null;
  return new Set(found.filter(({ version }) => version > since).map(({ scope }) => scope));
}

/** Includes the known version, if it is still the newest of its scope. Without one, returns the newest change. */
function readChanges(db: Database, known: number | null): Promise<Change[]> {
  const newest = sql`coalesce(${known}, (select max(version) from changes))`;
  return db
    .select()
    .from(changes)
    .where(gte(changes.version, newest))
    .orderBy(asc(changes.version))
    .limit(MAX_CHANGES);
}

/** The change feed of this isolate. */
export const changeFeed = new ChangeFeed();
