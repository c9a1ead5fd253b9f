import { DurableObject } from "cloudflare:workers";
import { changeFeed } from "../../shared/changes/change-feed.ts";
import { allows, type Filters } from "../../shared/filters.ts";
import { runAlarm } from "../../shared/work/alarm.ts";
import { withTimeout } from "../../shared/work/timeout.ts";
import { Crons } from "./crons.ts";
import { fire, notStarted } from "./firing.ts";
import { FiringPool } from "./firing-pool.ts";
import {
  DEADLINE_MS,
  FIRINGS,
  MAX_ANSWER_CHARACTERS,
  MAX_CRONS,
  MAX_DATABASE_BYTES,
  MAX_PAYLOAD_CHARACTERS,
} from "./limits.ts";
import type {
  CronChange,
  CronFilter,
  CronQuery,
  CronRefusal,
  CronRow,
  DueCron,
  FiringRow,
  NewCron,
} from "./records.ts";
import { afterFiring, isRescheduled, nextOf, scheduleProblem } from "./schedule.ts";

type StoredCron = { ok: true; cron: CronRow } | { ok: false; refusal: CronRefusal };

/** The crons of one deployment, and the alarm that fires them. The object's name is the deployment's id. */
export class CronObject extends DurableObject<Env> {
  readonly #crons = new Crons(this.ctx.storage);
  readonly #pool = new FiringPool();
  /** Time of the alarm that this instance has set and that has not begun. */
  #alarmAt: number | null = null;

  async createCron(cron: NewCron): Promise<StoredCron> {
    if (this.#crons.count() >= MAX_CRONS || this.#isLarge()) return { ok: false, refusal: "full" };
    return this.#store({ ...cron, next_at: null, tries: 0, retry_at: null }, true);
  }

  async getCron(cron_id: string, filters: Filters | null = null): Promise<CronRow | null> {
    const cron = this.#crons.get(cron_id);
    return cron && allows(filters, cron.metadata) ? cron : null;
  }

  /** @returns `null` when the cron does not exist */
  async listFirings(cron_id: string, filters: Filters | null = null): Promise<FiringRow[] | null> {
    const cron = this.#crons.get(cron_id);
    if (!cron || !allows(filters, cron.metadata)) return null;
    // A firing is tried again only while it is the next one of the cron: a new schedule ends its attempts.
    const isGivenUp = ({ outcome, at }: FiringRow) => outcome === "retry" && at !== cron.next_at;
    const firings = this.#crons.firingsOf(cron_id);
    return firings.map((firing) =>
      isGivenUp(firing) ? { ...firing, outcome: "skipped" } : firing,
    );
  }

  async recordFiring(firing: FiringRow): Promise<void> {
    this.#crons.putFiring(firing);
  }

  /** @returns `null` when the cron does not exist */
  async updateCron(
    cron_id: string,
    change: CronChange,
    filters: Filters | null = null,
  ): Promise<StoredCron | null> {
    const before = this.#crons.get(cron_id);
    if (!before || !allows(filters, before.metadata)) return null;
    const payload = merge(before.payload, change.payload);
    const cron = { ...before, ...change, payload, updated_at: Date.now() };
    if (cron.thread_id !== null) cron.on_run_completed = "keep";
    if (sizeOf(cron) > sizeOf(before) && this.#isLarge()) return { ok: false, refusal: "full" };
    return this.#store(cron, isRescheduled(before, cron));
  }

  /** @returns `false` when the cron does not exist */
  async deleteCron(cron_id: string, filters: Filters | null = null): Promise<boolean> {
    const cron = this.#crons.get(cron_id);
    if (!cron || !allows(filters, cron.metadata)) return false;
    const deleted = this.#crons.delete(cron_id);
    if (deleted) this.#arm();
    return deleted;
  }

  /** @returns `null` when the result exceeds the limit of a response */
  async searchCrons(query: CronQuery): Promise<CronRow[] | null> {
    const found: CronRow[] = [];
    let room = MAX_ANSWER_CHARACTERS;
    for (const cron of this.#crons.search(query)) {
      room -= sizeOf(cron);
      if (room < 0) return null;
      found.push(cron);
      if (found.length === query.limit) break;
    }
    return found;
  }

  async countCrons(filter: CronFilter): Promise<number> {
    return this.#crons.countMatching(filter);
  }

  async endOfThread(thread_id: string): Promise<void> {
    if (this.#crons.deleteOfThread(thread_id)) this.#arm();
  }

  async endOfAssistant(assistant_id: string): Promise<void> {
    if (this.#crons.deleteOfAssistant(assistant_id)) this.#arm();
  }

  async clear(): Promise<void> {
    this.#alarmAt = null;
    await this.ctx.storage.deleteAlarm();
    await this.#crons.deleteAll();
  }

  override async alarm() {
    this.#alarmAt = null;
    await runAlarm(this.ctx.storage, "CronObject", async () => {
      const due = this.#crons.due(Date.now(), FIRINGS, this.#pool.cronIds());
      // Confirms the cached rights of all principals and the cached revision by a single statement.
      if (due.length > 0) await changeFeed.poll(this.env, 0);
      await this.#pool.start(due.map((cron) => ({ ...cron, fire: () => this.#fire(cron) })));
      // The alarm lasts until all firings have ended, unless others are due: after a crash the platform repeats the
      // alarm.
      await this.#pool.settle(() => (this.#nextDue() ?? Number.POSITIVE_INFINITY) <= Date.now());
      this.#arm();
    });
  }

  #isLarge(): boolean {
    return this.#crons.size() >= MAX_DATABASE_BYTES;
  }

  #nextDue(): number | null {
    return this.#crons.nextDue(this.#pool.cronIds());
  }

  #store(cron: CronRow, reschedules: boolean): StoredCron {
    const now = Date.now();
    const problem = scheduleProblem(cron, now);
    if (problem) return { ok: false, refusal: problem };
    if (sizeOf(cron) > MAX_PAYLOAD_CHARACTERS) return { ok: false, refusal: "too_large" };
    const stored = reschedules ? { ...cron, ...nextOf(cron, now) } : cron;
    this.#crons.put(stored);
    // `#arm` reads all crons, so it is called only for a firing before the alarm.
    const isEarlier = stored.next_at !== null && stored.next_at < (this.#alarmAt ?? Infinity);
    if (isEarlier) this.#arm();
    return { ok: true, cron: stored };
  }

  /** Fires a cron, and schedules its next firing after now: further firings that were missed are dropped. */
  async #fire({ cron_id, at }: DueCron): Promise<void> {
    const cron = this.#crons.get(cron_id);
    // The cron was deleted or rescheduled while the firing waited.
    if (cron?.next_at !== at) return;
    const late = () => notStarted("retry", `No answer in ${DEADLINE_MS} ms`);
    const result = await withTimeout(fire(this.env, cron, at), DEADLINE_MS, late);
    const now = Date.now();
    // After its end a cron starts no runs, so a failed firing is not tried again.
    const isTooLate = result.outcome === "retry" && cron.end_at !== null && cron.end_at < now;
    const outcome = isTooLate ? "skipped" : result.outcome;
    this.#crons.putFiring({ ...result, outcome, cron_id, at, fired_at: now, is_manual: false });
    if (outcome === "ended" || outcome === "refused") this.#endAfter(outcome, cron);
    else this.#crons.advance(cron_id, at, afterFiring(cron, outcome, now));
  }

  #endAfter(outcome: "ended" | "refused", fired: CronRow): void {
    const cron = this.#crons.get(fired.cron_id);
    // The cron was deleted or rescheduled during the call.
    if (cron?.next_at !== fired.next_at) return;
    if (outcome === "ended") this.#crons.delete(cron.cron_id);
    else this.#disable(cron, fired);
  }

  /** Disables the cron. Repeats the firing instead when a change has replaced the principal that was refused. */
  #disable(cron: CronRow, refused: CronRow): void {
    const isSamePrincipal = JSON.stringify(cron.principal) === JSON.stringify(refused.principal);
    const disabled = { ...cron, enabled: false, updated_at: Date.now() };
    const next = isSamePrincipal
      ? { ...disabled, ...nextOf(disabled, Date.now()) }
      : { ...cron, tries: 0, retry_at: null };
    this.#crons.put(next);
  }

  /**
   * Sets the alarm of the next firing. Set during an alarm, it replaces the repetition by which the platform recovers
   * from a crash. So while firings are under way the next alarm is at most `DEADLINE_MS` away.
   */
  #arm() {
    const isFiring = this.#pool.cronIds().length > 0;
    const next = Math.min(
      this.#nextDue() ?? Number.POSITIVE_INFINITY,
      isFiring ? Date.now() + DEADLINE_MS : Number.POSITIVE_INFINITY,
    );
    this.#alarmAt = Number.isFinite(next) ? Math.max(next, Date.now()) : null;
    if (this.#alarmAt === null) void this.ctx.storage.deleteAlarm();
    else void this.ctx.storage.setAlarm(this.#alarmAt);
  }
}

function merge(payload: Record<string, unknown>, change: Record<string, unknown>) {
  const entries = Object.entries({ ...payload, ...change });
  return Object.fromEntries(entries.filter(([, value]) => value !== null));
}

function sizeOf({ payload, metadata }: CronRow): number {
  return JSON.stringify(payload).length + JSON.stringify(metadata).length;
}
