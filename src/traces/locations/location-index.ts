import type { Home } from "../changes.ts";
import { hashKey } from "../segments/codec/trace-hashes.ts";
import { ID_BYTES, KEY_WORDS, writeKey } from "../segments/codec/uuids.ts";
import { TraceIndex } from "../segments/trace-index.ts";
import type { Location } from "./location.ts";

/** Row of the table: ids of a project and day, as keys of 16 bytes. */
export type LocationRow = Home & { number: number; keys: Uint32Array<ArrayBuffer> };

/** All rows of a `LocationObject` in memory. */
export class LocationIndex {
  readonly #rows = new Map<number, LocationRow>();
  /** Newest row of each project and day. */
  readonly #newest = new Map<string, LocationRow>();
  /** Numbers of rows by the hashes of their ids. Several ids may have one hash. */
  readonly #rowsByHash = new TraceIndex();
  #size = 0;
  #last = 0;

  constructor(rows: Iterable<LocationRow>) {
    for (const row of rows) this.put(row, row.keys);
  }

  /** Number of keys in all rows. */
  get size(): number {
    return this.#size;
  }

  get nextNumber(): number {
    return this.#last + 1;
  }

  get rows(): Iterable<LocationRow> {
    return this.#rows.values();
  }

  newestOf(home: Home): LocationRow | undefined {
    return this.#newest.get(homeKey(home));
  }

  rowsWith(id: string): LocationRow[] {
    const wanted = packKeys([id]);
    return [...this.#rowsByHash.find(id)].flatMap((number) => {
      const row = this.#rows.get(number);
      return row !== undefined && positionOf(row, wanted) !== null ? [row] : [];
    });
  }

  rowOf(location: Location): LocationRow | undefined {
    return this.rowsWith(location.id).find((row) => homeKey(row) === homeKey(location));
  }

  /** Adds or replaces a row. `added`: its keys that the replaced row does not have. */
  put(row: LocationRow, added: Uint32Array): void {
    this.#size += countKeys(row) - countKeys(this.#rows.get(row.number));
    this.#rows.set(row.number, row);
    this.#last = Math.max(this.#last, row.number);
    const newest = this.newestOf(row);
    if (newest === undefined || newest.number <= row.number) this.#newest.set(homeKey(row), row);
    const hashes = Array.from({ length: added.length / KEY_WORDS }, (_, n) => hashKey(added, n));
    this.#rowsByHash.add(Uint32Array.from(hashes), row.number);
  }

  delete(row: LocationRow): void {
    this.#size -= countKeys(this.#rows.get(row.number));
    this.#rows.delete(row.number);
    if (this.newestOf(row)?.number === row.number) this.#newest.delete(homeKey(row));
  }
}

export function homeKey({ project_id, day }: Home): string {
  return `${project_id}/${day}`;
}

export function countKeys(row: Pick<LocationRow, "keys"> | undefined): number {
  return (row?.keys.length ?? 0) / KEY_WORDS;
}

export function packKeys(ids: string[]): Uint32Array<ArrayBuffer> {
  const bytes = new Uint8Array(ids.length * ID_BYTES);
  for (const [n, id] of ids.entries()) writeKey(id, bytes, n * ID_BYTES);
  return new Uint32Array(bytes.buffer);
}

export function joinKeys(a: Uint32Array, b: Uint32Array): Uint32Array<ArrayBuffer> {
  const joined = new Uint32Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}

/** Returns the keys of a row without that of an id. */
export function withoutId(row: LocationRow, id: string): Uint32Array<ArrayBuffer> {
  const at = positionOf(row, packKeys([id]));
  return at === null
    ? row.keys
    : joinKeys(row.keys.subarray(0, at), row.keys.subarray(at + KEY_WORDS));
}

function positionOf({ keys }: LocationRow, wanted: Uint32Array): number | null {
  const [first] = wanted;
  for (let at = 0; at < keys.length; at += KEY_WORDS) {
    if (keys[at] === first && wanted.every((word, n) => keys[at + n] === word)) return at;
  }
  return null;
}
