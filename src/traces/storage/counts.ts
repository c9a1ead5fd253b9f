/** Counts that the catalogue mirrors. */
export type CatalogueCounts = {
  rows: number;
  seq: number;
  min_start_us: number | null;
  max_start_us: number | null;
};

const COUNTS = "counts";

/** Counts with the newest row number: deleted rows never free their numbers. */
type StoredCounts = CatalogueCounts & { last_row?: number };

export class PartitionCounts {
  readonly #kv: DurableObjectStorage["kv"];
  #counts: StoredCounts;

  constructor(storage: DurableObjectStorage) {
    this.#kv = storage.kv;
    this.#counts = this.#read();
  }

  get current(): Readonly<CatalogueCounts> {
    const { rows, seq, min_start_us, max_start_us } = this.#counts;
    return { rows, seq, min_start_us, max_start_us };
  }

  /** Returns a greater sequence: microseconds since 1970, so that a time is a watermark. */
  nextSeq(): number {
    this.#counts.seq = Math.max(this.#counts.seq + 1, Date.now() * 1000);
    return this.#counts.seq;
  }

  addRow(start_us: number): number {
    const { rows, last_row = rows } = this.#counts;
    this.#counts.rows += 1;
    this.#counts.last_row = last_row + 1;
    this.trackStart(start_us);
    return this.#counts.last_row;
  }

  removeRows(n: number, range: Pick<CatalogueCounts, "min_start_us" | "max_start_us">): void {
    const { rows, last_row = rows } = this.#counts;
    this.#counts = { ...this.#counts, ...range, rows: rows - n, last_row };
  }

  trackStart(start_us: number): void {
    const { min_start_us, max_start_us } = this.#counts;
    if (min_start_us === null || start_us < min_start_us) this.#counts.min_start_us = start_us;
    if (max_start_us === null || start_us > max_start_us) this.#counts.max_start_us = start_us;
  }

  /** Runs inside the transaction that writes the counted rows. */
  save(): void {
    this.#kv.put(COUNTS, this.#counts);
  }

  /** Discards changes of a failed transaction. */
  restore(): void {
    this.#counts = this.#read();
  }

  #read(): StoredCounts {
    const stored = this.#kv.get<StoredCounts>(COUNTS);
    return stored ? { ...stored } : { rows: 0, seq: 0, min_start_us: null, max_start_us: null };
  }
}
