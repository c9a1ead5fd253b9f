import type { DirectoryChange } from "./calls.ts";
import { DirectoryCounts } from "./counts.ts";
import type { DirectoryEntry, DirectoryKey } from "./entry.ts";
import { MAX_ENTRY_AGE_MS, Removals } from "./removals.ts";
import { termsOf } from "./terms.ts";

/** Number of ids for one millisecond: an id is the time of creation in milliseconds, times this, plus a counter. */
const IDS_PER_MS = 1024;

const COLUMNS = [
  "thread_id",
  "status",
  "metadata",
  "created_at",
  "updated_at",
  "state_updated_at",
  "digest",
  "seq",
  "is_temporary",
  "is_waiting",
] as const satisfies (keyof DirectoryEntry)[];

type EntryColumns = Pick<DirectoryEntry, (typeof COLUMNS)[number]>;
type NewEntry = EntryColumns & Pick<DirectoryEntry, "read_at">;
/** Entries from objects that still run an earlier version have no `is_waiting`. */
type GivenEntry = Omit<NewEntry, "is_waiting"> & Partial<Pick<NewEntry, "is_waiting">>;
type StoredEntry = EntryColumns & { id: number };

/** Writes of the directory, and its counts. The caller opens the transaction. */
export class DirectoryEntries {
  readonly #sql: SqlStorage;
  readonly #removals: Removals;
  readonly #isOpen: boolean;
  readonly #counts: DirectoryCounts;

  /** `isOpen`: whether new threads may be added. */
  constructor(sql: SqlStorage, isOpen = true) {
    this.#isOpen = isOpen;
    this.#sql = sql;
    this.#removals = new Removals(sql);
    this.#counts = new DirectoryCounts(sql);
  }

  /** `outdated`: number of entries, see `#put`. `refused`: ids of new threads that another object must list. */
  apply(changes: DirectoryChange[]): { outdated: number; refused: string[] } {
    const result = { outdated: 0, refused: [] as string[] };
    for (const change of changes) {
      const outcome = "is_removed" in change ? this.#remove(change) : this.#put(change);
      if (outcome === "outdated") result.outdated += 1;
      if (outcome === "refused") result.refused.push(change.thread_id);
    }
    this.#counts.write();
    return result;
  }

  /**
   * Stores an entry, unless the same or a later one is stored or its thread was removed: changes arrive in any order.
   * @returns `"outdated"` for an entry so old that the removal of its thread may be forgotten, `"refused"` for a new
   * thread that another object must list, else `"done"`
   */
  #put(given: GivenEntry): "done" | "outdated" | "refused" {
    const entry: NewEntry = { is_waiting: 1, ...given };
    const stored = this.#find(entry.thread_id);
    if (stored && stored.seq >= entry.seq) return "done";
    if (stored?.created_at === entry.created_at) {
      this.#update(stored, entry);
      return "done";
    }
    if (Date.now() - entry.read_at > MAX_ENTRY_AGE_MS) return "outdated";
    if (this.#removals.includes(entry)) return "done";
    if (!(stored || this.#isOpen)) return "refused";
    if (stored) this.#delete(stored);
    this.#insert(entry);
    return "done";
  }

  /** Removes the entry, unless it is newer than `seq`: a new thread may have the same id. */
  #remove({ thread_id, seq }: Pick<DirectoryKey, "thread_id" | "seq">) {
    const stored = this.#find(thread_id);
    if (stored && stored.seq <= seq) this.#delete(stored);
    this.#removals.add({ thread_id, seq });
  }

  #find(thread_id: string): StoredEntry | null {
    const [row] = this.#sql.exec<StoredEntry>(
      `SELECT id, ${COLUMNS.join(", ")} FROM threads WHERE thread_id = ?`,
      thread_id,
    );
    return row ?? null;
  }

  #insert(entry: EntryColumns) {
    const id = this.#newId(entry.created_at);
    const places = COLUMNS.map(() => "?").join(", ");
    const values = COLUMNS.map((column) => entry[column]);
    const sql = `INSERT INTO threads (id, ${COLUMNS.join(", ")}) VALUES (?, ${places})`;
    this.#sql.exec(sql, id, ...values);
    this.#replaceTerms(id, null, entry);
    this.#add(entry, 1);
  }

  /** Sets only the columns that change: SQLite writes the indexes of all columns that a statement sets. */
  #update(stored: StoredEntry, entry: EntryColumns) {
    const changed = COLUMNS.filter((column) => entry[column] !== stored[column]);
    const set = changed.map((column) => `${column} = ?`).join(", ");
    const values = changed.map((column) => entry[column]);
    this.#sql.exec(`UPDATE threads SET ${set} WHERE id = ?`, ...values, stored.id);
    this.#replaceTerms(stored.id, stored, entry);
    this.#add(stored, -1);
    this.#add(entry, 1);
  }

  #delete(stored: StoredEntry) {
    this.#sql.exec("DELETE FROM threads WHERE id = ?", stored.id);
    this.#replaceTerms(stored.id, stored, null);
    this.#add(stored, -1);
  }

  /** Continues in the next millisecond when the ids of one are used up. */
  #newId(created_at: string): number {
    for (let first = Date.parse(created_at) * IDS_PER_MS; ; first += IDS_PER_MS) {
      const { last } = this.#sql
        .exec<{ last: number | null }>(
          "SELECT max(id) AS last FROM threads WHERE id >= ? AND id < ?",
          ...[first, first + IDS_PER_MS],
        )
        .one();
      const id = last === null ? first : last + 1;
      if (id < first + IDS_PER_MS) return id;
    }
  }

  #replaceTerms(id: number, before: EntryColumns | null, after: EntryColumns | null) {
    if (before?.metadata === after?.metadata) return;
    const [old, current] = [termsIn(before), termsIn(after)];
    for (const term of old)
      if (!current.has(term))
        this.#sql.exec("DELETE FROM terms WHERE term = ? AND id = ?", term, id);
    for (const term of current)
      if (!old.has(term)) this.#sql.exec("INSERT OR IGNORE INTO terms VALUES (?, ?)", term, id);
  }

  #add({ status, is_temporary }: EntryColumns, n: number) {
    if (is_temporary === 0) this.#counts.add(status, n);
  }
}

/** Searches do not find temporary threads. */
function termsIn(entry: EntryColumns | null): Set<string> {
  if (entry === null || entry.is_temporary === 1) return new Set();
  return new Set(termsOf(JSON.parse(entry.metadata)));
}
