import type { ScanRange } from "../reads/scan-types.ts";
import type { Leftovers } from "./leftovers.ts";

/** Returns the R2 key prefix of a project's trace files: `.parquet` has runs, `.body` the body of a segment. */
export function tracePrefix(project_id: string): string {
  return `traces/${project_id}/`;
}

/** Rows of a scan. `layout` identifies the columns and the compression of a file with them. */
export type SealedRange = Omit<ScanRange, "min_seq" | "scan_range"> & { layout: string };

/** Digests with which an export sent a part: MD5 in base64, SHA-256 in hex. */
export type PartDigests = { md5?: string; sha256?: string };

/** Contents of a complete file. */
export type SealedContents = {
  rows: number;
  bytes: number;
  sha256: string;
  digests: PartDigests[];
  min_start_us: number | null;
  max_start_us: number | null;
};

/**
 * Attempt to write a file. Ids and keys are never reused: the id is the fencing token. A new attempt for a range
 * replaces the earlier one of the same owner. `lease_until` is in milliseconds since 1970.
 */
export type SealAttempt = {
  id: string;
  owner: string;
  key: string;
  upload_id: string;
  lease_until: number;
};

/** `contents` is `null` until the file is complete. */
type StoredFile = SealedRange & SealAttempt & { contents: SealedContents | null };
export type SealedFile = SealedContents &
  Pick<SealAttempt, "key"> &
  Pick<SealedRange, "after" | "until">;
/** `file` has exactly the rows of a range. `parts` has all files that may have some of them, in order of time. */
export type SealedRows = { file: SealedFile | null; parts: SealedFile[] };

const KEY = "sealed_files";
/** A stored value may have 2 MB. The rest is for the digests of attempts that complete. */
const MAX_CHARS = 1_000_000;

/**
 * Parquet files in R2 that have the live runs of this partition, and attempts to write some. Any
 * change of a run or of feedback drops all of them in its transaction.
 */
export class SealedFiles {
  readonly #kv: DurableObjectStorage["kv"];
  readonly #leftovers: Leftovers;

  constructor(storage: DurableObjectStorage, leftovers: Leftovers) {
    this.#kv = storage.kv;
    this.#leftovers = leftovers;
  }

  /** Bytes of the complete files. */
  get bytes(): number {
    return this.#files.reduce((sum, { contents }) => sum + (contents?.bytes ?? 0), 0);
  }

  get isEmpty(): boolean {
    return this.#files.length === 0;
  }

  /** Returns complete files that may have rows of a range. None of their runs is newer than `max_seq` of the range. */
  find(range: SealedRange): SealedRows {
    const files = this.#files.filter(
      ({ layout, max_seq }) => layout === range.layout && max_seq <= range.max_seq,
    );
    const [file = null] = files.filter((one) => isSameRange(one, range)).flatMap(toSealed);
    const parts = files.flatMap(toSealed).filter((one) => overlaps(one, range));
    return { file, parts: parts.toSorted((a, b) => startOf(a) - startOf(b)) };
  }

  /** Whether an attempt may begin: no other owner has a lease on the range. */
  canBegin(range: SealedRange, owner: string, now: number): boolean {
    return !this.#files.some(
      (file) =>
        isSameRange(file, range) &&
        file.contents === null &&
        file.owner !== owner &&
        file.lease_until > now,
    );
  }

  /** Records an attempt before its first byte. The oldest files make room for it. */
  begin(range: SealedRange, attempt: SealAttempt): void {
    const excess = oldestOver(this.#files, MAX_CHARS);
    const isReplaced = (file: StoredFile) => isSameRange(file, range) || excess.has(file.id);
    this.#replaceWhere(isReplaced, { ...range, ...attempt, contents: null });
  }

  /** @returns false when the attempt was dropped: by a change, by a later attempt, or after its lease */
  commit(id: string, contents: SealedContents): boolean {
    const files = this.#files;
    const file = files.find((one) => one.id === id);
    if (file === undefined) return false;
    file.contents = contents;
    this.#kv.put(KEY, files);
    return true;
  }

  /** Drops attempts that did not end in time. */
  dropExpired(now: number): void {
    this.#replaceWhere((file) => file.contents === null && file.lease_until <= now);
  }

  /** Drops all files. Objects in R2 are left for the alarm. */
  drop(): void {
    this.#replaceWhere(() => true);
  }

  /** @returns the end of the first lease in milliseconds, `null` without attempts */
  get nextExpiry(): number | null {
    const open = this.#files.filter(({ contents }) => contents === null);
    return open.length === 0 ? null : Math.min(...open.map(({ lease_until }) => lease_until));
  }

  /** Whether a time is the end of the lease of a file, complete or not. */
  isExpiry(at: number | null): boolean {
    return this.#files.some(({ lease_until }) => lease_until === at);
  }

  /** Drops matching files, and adds one. */
  #replaceWhere(isReplaced: (file: StoredFile) => boolean, added?: StoredFile): void {
    const files = this.#files;
    const replaced = files.filter(isReplaced);
    if (replaced.length === 0 && added === undefined) return;
    this.#leftovers.add("sealed", replaced.map(toLeftover));
    const kept = files.filter((file) => !replaced.includes(file));
    if (added !== undefined) kept.push(added);
    if (kept.length > 0) this.#kv.put(KEY, kept);
    else this.#kv.delete(KEY);
  }

  get #files(): StoredFile[] {
    return this.#kv.get<StoredFile[]>(KEY) ?? [];
  }
}

/** Object in R2, and its upload unless that is known to be complete. */
export type SealedLeftover = { key: string; upload_id: string | null };

function toLeftover({ key, upload_id, contents }: StoredFile): string {
  const leftover: SealedLeftover = { key, upload_id: contents === null ? upload_id : null };
  return JSON.stringify(leftover);
}

/** Returns the ids of the oldest files: the others have at most `max_chars` as JSON. */
function oldestOver(files: StoredFile[], max_chars: number): Set<string> {
  let chars = 0;
  const excess = files.toReversed().filter((file) => {
    chars += JSON.stringify(file).length;
    return chars > max_chars;
  });
  return new Set(excess.map(({ id }) => id));
}

function toSealed({ key, after, until, contents }: StoredFile): SealedFile[] {
  return contents === null ? [] : [{ ...contents, key, after, until }];
}

/** Compares times only: rows at either limit may be in other files. */
function overlaps(file: SealedFile, { from_us, to_us, after, until }: SealedRange): boolean {
  const isBefore = startOf(file) < to_us && startOf(file) <= (until?.start_us ?? Infinity);
  const end = file.max_start_us ?? -Infinity;
  return isBefore && end >= from_us && end >= (after?.start_us ?? -Infinity);
}

function startOf({ min_start_us }: SealedFile): number {
  return min_start_us ?? Infinity;
}

function isSameRange(a: SealedRange, b: SealedRange): boolean {
  return rangeKey(a) === rangeKey(b);
}

/** A position is inside of the limits of time and more exact, so it replaces its limit. */
function rangeKey({ layout, from_us, to_us, after, until }: SealedRange): string {
  const start = after === null ? from_us : [after.start_us, after.id];
  const end = until === null ? to_us : [until.start_us, until.id];
  return JSON.stringify([layout, start, end]);
}
