import { isMigrated, migrate } from "../../shared/storage/object-tables.ts";
import type { Location } from "./location.ts";
import {
  countKeys,
  homeKey,
  joinKeys,
  LocationIndex,
  type LocationRow,
  packKeys,
  withoutId,
} from "./location-index.ts";

/** Append only: the version is the number of applied steps. */
const MIGRATIONS = [
  `CREATE TABLE locations (
     number INTEGER PRIMARY KEY,
     project_id TEXT NOT NULL,
     day TEXT NOT NULL,
     keys BLOB NOT NULL
   );`,
];

/** Number of keys from which a row gets no more, 8 KB. Until then, each addition writes the row again. */
const ROW_KEYS = 512;
const FULL = "is_full";

type StoredRow = { number: number; project_id: string; day: string; keys: ArrayBuffer };

/** Locations of ids. A row has those of one project and day. */
export class LocationTable {
  readonly #storage: DurableObjectStorage;
  #memory: LocationIndex | null = null;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Whether ids were refused: the next generation may have them. */
  get isFull(): boolean {
    return this.#storage.kv.get(FULL) === true;
  }

  /** Stores all new locations, or none when the object has `max_ids` already. Returns the refused ids. */
  add(locations: Location[], max_ids: number): string[] {
    migrate(this.#storage, MIGRATIONS);
    return this.#change((index) => {
      const added = locations.filter((one) => index.rowOf(one) === undefined);
      if (added.length === 0) return [];
      if (index.size >= max_ids) {
        this.#storage.kv.put(FULL, true);
        return added.map(({ id }) => id);
      }
      for (const some of Map.groupBy(added, homeKey).values()) this.#append(index, some);
      return [];
    });
  }

  find(ids: string[]): Location[] {
    if (!isMigrated(this.#storage)) return [];
    const index = this.#load();
    return ids.flatMap((id) =>
      index.rowsWith(id).map(({ project_id, day }) => ({ id, project_id, day })),
    );
  }

  remove(locations: Location[]): void {
    if (!isMigrated(this.#storage)) return;
    this.#change((index) => {
      const changed = new Map<number, LocationRow>();
      for (const one of locations) {
        const found = index.rowOf(one);
        if (found === undefined) continue;
        const row = changed.get(found.number) ?? found;
        changed.set(row.number, { ...row, keys: withoutId(row, one.id) });
      }
      for (const row of changed.values()) this.#save(index, row, new Uint32Array());
    });
  }

  /** Removes the locations of a project, or of a day of it. */
  removeHomes(project_id: string, day: string | null): void {
    if (!isMigrated(this.#storage)) return;
    this.#change((index) => {
      for (const row of [...index.rows]) {
        if (row.project_id !== project_id || (day !== null && row.day !== day)) continue;
        this.#save(index, { ...row, keys: new Uint32Array() }, new Uint32Array());
      }
    });
  }

  /** Appends to the newest row of the project and day while that has room: a small batch adds no row. */
  #append(index: LocationIndex, locations: Location[]): void {
    const [first] = locations;
    if (first === undefined) return;
    const { project_id, day } = first;
    const added = packKeys([...new Set(locations.map(({ id }) => id))]);
    const newest = index.newestOf(first);
    const open = newest !== undefined && countKeys(newest) < ROW_KEYS ? newest : null;
    const keys = open === null ? added : joinKeys(open.keys, added);
    this.#save(index, { project_id, day, number: open?.number ?? index.nextNumber, keys }, added);
  }

  #save(index: LocationIndex, row: LocationRow, added: Uint32Array): void {
    const { number, project_id, day, keys } = row;
    if (keys.length === 0) {
      this.#storage.sql.exec("DELETE FROM locations WHERE number = ?", number);
      index.delete(row);
      return;
    }
    this.#storage.sql.exec(
      "INSERT OR REPLACE INTO locations (number, project_id, day, keys) VALUES (?, ?, ?, ?)",
      ...[number, project_id, day, keys.buffer],
    );
    index.put(row, added);
  }

  /** Changes memory and storage together: after a failure, memory is read again. */
  #change<T>(work: (index: LocationIndex) => T): T {
    const index = this.#load();
    try {
      return this.#storage.transactionSync(() => work(index));
    } catch (error) {
      this.#memory = null;
      throw error;
    }
  }

  #load(): LocationIndex {
    this.#memory ??= new LocationIndex(readRows(this.#storage.sql));
    return this.#memory;
  }
}

function* readRows(sql: SqlStorage): Generator<LocationRow> {
  const cursor = sql.exec<StoredRow>("SELECT * FROM locations ORDER BY number");
  for (const row of cursor) yield { ...row, keys: new Uint32Array(row.keys) };
}
