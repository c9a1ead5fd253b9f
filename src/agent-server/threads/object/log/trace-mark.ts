type Mark = { traces_sent: number | null };
/** The row of the thread, cached. */
type MarkRow = {
  get(): Readonly<Mark>;
  isStored(column: keyof Mark): boolean;
  set(mark: Mark): void;
  setLater(mark: Mark): void;
};

/** The mark of delivery: traces in the rows of events up to this id are delivered. */
export class TraceMark {
  readonly #row: MarkRow;

  constructor(row: MarkRow) {
    this.#row = row;
  }

  /** @returns `null` for a thread of an earlier version without such rows */
  get event(): number | null {
    return this.#row.get().traces_sent;
  }

  /**
   * Moves the mark forward. It is written with the next change of the thread, or at once with `now`, for an idle
   * thread. After a crash before the write the traces are delivered again, which changes nothing.
   */
  advance(traces_sent: number, { now }: { now: boolean }) {
    if (traces_sent <= (this.event ?? 0)) return;
    if (now) this.#row.set({ traces_sent });
    else this.#row.setLater({ traces_sent });
  }

  /** Moves the mark back before an event: its traces must be delivered, also after a crash. */
  precede(event: number) {
    if (this.event !== null && this.event < event) return;
    const mark = { traces_sent: event - 1 };
    if (this.#row.isStored("traces_sent")) this.#row.set(mark);
    else this.#row.setLater(mark);
  }
}
