import { DurableObject } from "cloudflare:workers";
import { allows, type Filters } from "../../shared/filters.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import { Crons } from "./crons.ts";
import { fire } from "./firing.ts";
import {
  FIRINGS,
  FIRINGS_AT_ONCE,
  MAX_ANSWER_CHARACTERS,
  MAX_CRONS,
  MAX_PAYLOAD_CHARACTERS,
  RETRY_MS,
} from "./limits.ts";
import type {
  CronChange,
  CronFilter,
  CronQuery,
  CronRefusal,
  CronRow,
  FiringOutcome,
  FiringRow,
  NewCron,
} from "./records.ts";
import { nextFiring, scheduleProblem } from "./schedule.ts";

type StoredCron = { ok: true; cron: CronRow } | { ok: false; refusal: CronRefusal };

/** The crons of one deployment, and the clock that fires them. Named by the deployment's id. */
export class CronObject extends DurableObject<Env> {
  readonly #crons = new Crons(this.ctx.storage);

  async createCron(cron: NewCron): Promise<StoredCron> {
    if (this.#crons.count() >= MAX_CRONS) return { ok: false, refusal: "full" };
    return this.#store({ ...cron, next_at: null, tries: 0, retry_at: null }, true);
  }

  async getCron(cron_id: string, filters: Filters | null = null): Promise<CronRow | null> {
    const cron = this.#crons.get(cron_id);
    return cron && allows(filters, cron.metadata) ? cron : null;
  }

  /** @returns `null` when the cron does not exist */
  async listFirings(cron_id: string, filters: Filters | null = null): Promise<FiringRow[] | null> {
    const cron = this.#crons.get(cron_id);
    return cron && allows(filters, cron.metadata) ? this.#crons.firingsOf(cron_id) : null;
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
    let passed = 0;
    for (const cron of this.#crons.search(query)) {
      if (passed++ < query.offset) continue;
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
    await this.ctx.storage.deleteAlarm();
    await this.#crons.deleteAll();
  }

  override async alarm() {
    try {
      const due = this.#crons.due(Date.now(), FIRINGS);
      await mapConcurrent(due, FIRINGS_AT_ONCE, (cron) => this.#fire(cron));
    } finally {
      this.#arm();
    }
  }

  #store(cron: CronRow, reschedules: boolean): StoredCron {
    const now = Date.now();
    const problem = scheduleProblem(cron, now);
    if (problem) return { ok: false, refusal: problem };
    if (sizeOf(cron) > MAX_PAYLOAD_CHARACTERS) return { ok: false, refusal: "too_large" };
    const stored = reschedules ? { ...cron, ...nextOf(cron, now) } : cron;
    this.#crons.put(stored);
    this.#arm();
    return { ok: true, cron: stored };
  }

  /** Missed firings are combined into the first one. */
  async #fire(due: CronRow) {
    const { cron_id, next_at, end_at } = due;
    if (next_at === null) return;
    const result = await fire(this.env, due, next_at);
    const { outcome } = result;
    this.#crons.putFiring({
      ...result,
      cron_id,
      at: next_at,
      fired_at: Date.now(),
      is_manual: false,
    });
    const cron = this.#crons.get(cron_id);
    // The cron was deleted or rescheduled during the call.
    if (cron?.next_at !== next_at) return;
    const now = Date.now();
    const gaveUp = outcome === "retry" && end_at !== null && end_at < now;
    if (outcome === "ended") this.#crons.delete(cron_id);
    else if (outcome === "refused") this.#disable(cron, due);
    else this.#crons.put({ ...cron, ...after(cron, gaveUp ? "skipped" : outcome, now) });
  }

  /** Keeps a cron enabled when a change has replaced its principal. */
  #disable(cron: CronRow, refused: CronRow) {
    const isSame = JSON.stringify(cron.principal) === JSON.stringify(refused.principal);
    const change = isSame ? { enabled: false, updated_at: Date.now() } : {};
    const changed = { ...cron, ...change };
    this.#crons.put({ ...changed, ...nextOf(changed, Date.now()) });
  }

  #arm() {
    const next = this.#crons.nextDue();
    if (next === null) void this.ctx.storage.deleteAlarm();
    else void this.ctx.storage.setAlarm(Math.max(next, Date.now()));
  }
}

function after(cron: CronRow, outcome: FiringOutcome, now: number) {
  if (outcome !== "retry") return nextOf(cron, now);
  const pause = RETRY_MS[Math.min(cron.tries, RETRY_MS.length - 1)] ?? 0;
  return { tries: cron.tries + 1, retry_at: now + pause };
}

function nextOf(cron: CronRow, now: number) {
  const next_at = cron.enabled ? nextFiring(cron, now) : null;
  return { next_at, tries: 0, retry_at: null };
}

function isRescheduled(before: CronRow, cron: CronRow): boolean {
  return (["schedule", "timezone", "end_at", "enabled"] as const).some(
    (field) => before[field] !== cron[field],
  );
}

function merge(payload: Record<string, unknown>, change: Record<string, unknown>) {
  const entries = Object.entries({ ...payload, ...change });
  return Object.fromEntries(entries.filter(([, value]) => value !== null));
}

function sizeOf({ payload, metadata }: CronRow): number {
  return JSON.stringify(payload).length + JSON.stringify(metadata).length;
}
