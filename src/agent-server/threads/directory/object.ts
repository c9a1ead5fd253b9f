import { DurableObject } from "cloudflare:workers";
import { isMigrated, migrate } from "../../../shared/storage/object-tables.ts";
import { generationAfter, generationOf, ROOT, slotsUpTo } from "../../../shared/storage/slots.ts";
import { runAlarm } from "../../../shared/work/alarm.ts";
import { DIRECTORY_SIZE } from "../contract/directory-slots.ts";
import type { LateCancellation } from "../contract/records.ts";
import type {
  DirectoryCalls,
  DirectoryChange,
  DirectoryEnd,
  DirectoryPage,
  GenerationInfo,
  PublishResult,
  WaitingPage,
} from "./calls.ts";
import { DirectoryCounts, NO_THREADS, type StatusCounts } from "./counts.ts";
import { DirectoryEntries } from "./entries.ts";
import type { DirectoryEntry } from "./entry.ts";
import { MIGRATIONS } from "./migrations.ts";
import { toPage } from "./pages.ts";
import { MAX_ENTRY_AGE_MS, Removals } from "./removals.ts";
import {
  type DirectoryFilter,
  type DirectoryQuery,
  DirectorySearch,
  type WaitingPosition,
} from "./search.ts";
import { directoryObject } from "./stub.ts";

type DeletionTarget = { deployment_id: string; slot: number };

/** Key of the id of the workspace that owns the deployment. */
const WORKSPACE = "workspace_id";
/**
 * Key of the generation for new threads, stored by the root and by full objects. An object whose generation is earlier
 * than the stored one accepts no new threads, and keeps those it has.
 */
const GENERATION = "generation";
/** Key of the cancellations of runs in threads that are published later, the newest first. */
const CANCELLATIONS = "cancellations";
/** Cancellations that are kept. A new one replaces the one with the same filters, status and action. */
const MAX_CANCELLATIONS = 20;
/** Key that is set once the deployment is being deleted. */
const ENDING = "ending";

/**
 * The search index of the threads of one deployment, or of a part of them. The objects of threads own the data, and
 * publish entries here.
 */
export class DirectoryObject extends DurableObject<Env> implements DirectoryCalls {
  readonly #search = new DirectorySearch(this.ctx.storage.sql);
  #exists: boolean;
  /** Calls of `grow`, by which a deletion notices a new generation that began while it called other objects. */
  #growths = 0;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#exists = isMigrated(ctx.storage);
    if (this.#exists) migrate(ctx.storage, MIGRATIONS);
  }

  async publish(changes: DirectoryChange[]): Promise<PublishResult> {
    const { storage } = this.ctx;
    const slot = changes[0]?.slot ?? ROOT;
    const entry = changes.find((change) => "workspace_id" in change);
    if (!this.#exists) this.#create();
    if (entry && storage.kv.get(WORKSPACE) === undefined) {
      // Happens before the first entry is stored: searches read only objects of generations that the root knows.
      if (slot !== ROOT) await this.#growRoot(entry, generationOf(slot));
      storage.kv.put(WORKSPACE, entry.workspace_id);
    }
    const isOpen = this.#generation(slot) === generationOf(slot);
    const { outdated, refused } = storage.transactionSync(() => {
      const entries = new DirectoryEntries(storage.sql, isOpen);
      return entries.apply(changes);
    });
    if (isOpen && entry && this.#isFull(entry)) await this.#close(entry);
    const cancellations = this.#cancellations();
    return { outdated, refused, cancellations, generation: this.#generation(slot) };
  }

  async cancelLate(workspace_id: string, cancellation: LateCancellation): Promise<GenerationInfo> {
    const { kv } = this.ctx.storage;
    if (!this.#exists) this.#create();
    if ((kv.get(WORKSPACE) ?? workspace_id) === workspace_id) {
      const others = this.#cancellations().filter((one) => !isSameChoice(one, cancellation));
      kv.put(CANCELLATIONS, [cancellation, ...others].slice(0, MAX_CANCELLATIONS));
    }
    return { generation: this.#generation(ROOT) };
  }

  /** Returns the cancellations that entries may still need: an entry over `MAX_ENTRY_AGE_MS` old adds no thread. */
  #cancellations(): LateCancellation[] {
    const oldest = Date.now() - MAX_ENTRY_AGE_MS;
    const all = this.ctx.storage.kv.get<LateCancellation[]>(CANCELLATIONS) ?? [];
    return all.filter(({ accepted_until }) => accepted_until > oldest);
  }

  async grow(workspace_id: string, generation: number): Promise<number> {
    const { kv } = this.ctx.storage;
    this.#growths += 1;
    if (!this.#exists) this.#create();
    if (kv.get(WORKSPACE) === undefined) kv.put(WORKSPACE, workspace_id);
    const current = this.#generation(ROOT);
    if (generation > current) kv.put(GENERATION, generation);
    return Math.max(generation, current);
  }

  #generation(slot: number): number {
    return this.ctx.storage.kv.get<number>(GENERATION) ?? generationOf(slot);
  }

  #isFull({ deployment_id }: DirectoryEntry): boolean {
    const { overrides, max_threads } = DIRECTORY_SIZE;
    const size = new DirectoryCounts(this.ctx.storage.sql).size();
    return size >= (overrides.get(deployment_id) ?? max_threads);
  }

  async #close(entry: DirectoryEntry) {
    const next = generationAfter(entry.slot);
    if (next === generationOf(entry.slot)) return;
    const generation = await this.#growRoot(entry, next);
    this.ctx.storage.kv.put(GENERATION, generation);
  }

  #growRoot({ deployment_id, workspace_id, slot }: DirectoryEntry, generation: number) {
    if (slot === ROOT) return this.grow(workspace_id, generation);
    return directoryObject(this.env, deployment_id).grow(workspace_id, generation);
  }

  /**
   * Creates the tables. The first call may leave the object without entries, such as a removal that no entry follows.
   * So an alarm deletes an object that has none.
   */
  #create() {
    const { storage } = this.ctx;
    migrate(storage, MIGRATIONS);
    this.#exists = true;
    void storage.setAlarm(Date.now() + MAX_ENTRY_AGE_MS);
  }

  async find(workspace_id: string | null, query: DirectoryQuery): Promise<DirectoryPage> {
    if (!this.#isOf(workspace_id)) return { rows: [], isCut: false, generation: 0 };
    return { ...toPage(this.#search.find(query)), generation: this.#generation(ROOT) };
  }

  async count(
    workspace_id: string | null,
    filter: DirectoryFilter,
  ): Promise<StatusCounts & GenerationInfo> {
    if (!this.#isOf(workspace_id)) return { ...NO_THREADS, generation: 0 };
    return { ...this.#search.count(filter), generation: this.#generation(ROOT) };
  }

  async findWaiting(
    workspace_id: string,
    after: WaitingPosition | null,
    limit: number,
  ): Promise<WaitingPage> {
    if (!this.#isOf(workspace_id)) return { rows: [], total: 0, generation: 0 };
    const rows = [...this.#search.findWaiting(after, limit)];
    const total = this.#search.countWaiting();
    return { rows, total, generation: this.#generation(ROOT) };
  }

  async deleteDirectory(deployment_id: string, slot: number): Promise<DirectoryEnd> {
    if (!this.#exists) return "ended";
    this.ctx.storage.kv.put(ENDING, { deployment_id, slot } satisfies DeletionTarget);
    return this.#delete();
  }

  override async alarm(): Promise<void> {
    const { kv } = this.ctx.storage;
    const isClosed = kv.get(GENERATION) !== undefined;
    const isDeleting = kv.get(ENDING) !== undefined;
    // An object with a stored generation remains while the deployment exists: a new one would not know the generation.
    if (isClosed && !isDeleting) return;
    // A thread that is published later may need one of them.
    if (!isDeleting && this.#cancellations().length > 0)
      return this.ctx.storage.setAlarm(Date.now() + MAX_ENTRY_AGE_MS);
    await runAlarm(this.ctx.storage, "DirectoryObject", async () => void (await this.#delete()));
  }

  async #delete(): Promise<DirectoryEnd> {
    const { storage } = this.ctx;
    const growths = this.#growths;
    const results = await this.#deleteOthers();
    const [row] = this.#search.find({ with_temporary: true, limit: 1 });
    if (row || results.includes("used")) return "used";
    const until = new Removals(storage.sql).keptUntil();
    if (until !== null || results.includes("later") || growths !== this.#growths) {
      await storage.setAlarm(until ?? Date.now() + MAX_ENTRY_AGE_MS);
      return "later";
    }
    this.#exists = false;
    await storage.deleteAll();
    return "ended";
  }

  #deleteOthers(): Promise<DirectoryEnd[]> {
    const ending = this.ctx.storage.kv.get<DeletionTarget>(ENDING);
    if (ending?.slot !== ROOT) return Promise.resolve([]);
    const { deployment_id } = ending;
    const [, ...slots] = slotsUpTo(this.#generation(ROOT));
    return Promise.all(
      slots.map((slot) =>
        directoryObject(this.env, deployment_id, slot).deleteDirectory(deployment_id, slot),
      ),
    );
  }

  #isOf(workspace_id: string | null): boolean {
    if (!this.#exists) return false;
    return workspace_id === null || this.ctx.storage.kv.get(WORKSPACE) === workspace_id;
  }
}

/** Compares everything but the time. */
function isSameChoice(one: LateCancellation, other: LateCancellation): boolean {
  const [a, b] = [one, other].map(({ action, status, filters }) =>
    JSON.stringify({ action, status, filters }),
  );
  return a === b;
}
