import { compressPieces, decompressPieces } from "./compressed.ts";

/** Limit of a row. Carried operations stay in it until the events of their run are deleted. */
const MAX_CARRIED_CHARACTERS = 32 * 1024;

/** A row of events: the id of its last event, and the operations that it carries. */
type CarriedRow = { last_id: number; texts: string[] };

/**
 * Trace operations in the rows of the events of their batch, as JSON texts. Delivery does not delete them, because that
 * would write a row. It moves a mark instead: rows up to the marked event have only delivered operations.
 */
export class CarriedTraces {
  readonly #sql: SqlStorage;
  /** The newest row, without the texts that are known to be delivered. */
  #newest: CarriedRow | null = null;
  #changes = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  clearCache() {
    this.#newest = null;
  }

  /** Number of texts that were added to stored rows. A delivery compares it before and after. */
  get changes(): number {
    return this.#changes;
  }

  /** Returns the column of a new row, which becomes the newest. @returns `null` without texts */
  begin(last_id: number, texts: string[]): Uint8Array | null {
    this.#newest = { last_id, texts };
    return texts.length === 0 ? null : toColumn(texts);
  }

  /**
   * Returns the new column of the newest row. `sent_event_id`: the mark of delivery.
   * @returns `null` when the row has no room, or this object has not written it since the cache was cleared
   */
  extend(last_id: number, text: string, sent_event_id: number): Uint8Array | null {
    if (this.#newest?.last_id !== last_id) return null;
    const texts = [...(last_id > sent_event_id ? this.#newest.texts : []), text];
    if (!canCarry(texts)) return null;
    this.#newest = { last_id, texts };
    this.#changes += 1;
    return toColumn(texts);
  }

  /** Drops the newest row's texts from memory when they are delivered. */
  forgetSent(sent_event_id: number) {
    if (this.#newest && this.#newest.last_id <= sent_event_id) this.#newest.texts = [];
  }

  hasAfter(sent_event_id: number): boolean {
    const found = this.#sql.exec(
      "SELECT 1 FROM events WHERE last_id > ? AND traces IS NOT NULL LIMIT 1",
      sent_event_id,
    );
    return found.toArray().length > 0;
  }

  /** Yields the rows after the mark. `run_id`: only those of this run. */
  *after(sent_event_id: number, run_id: string | null = null): Iterable<CarriedRow> {
    const rows = this.#sql.exec<{ last_id: number; traces: ArrayBuffer }>(
      `SELECT last_id, traces FROM events
       WHERE last_id > ?1 AND traces IS NOT NULL AND (?2 IS NULL OR run_id = ?2) ORDER BY last_id`,
      sent_event_id,
      run_id,
    );
    for (const { last_id, traces } of rows) yield { last_id, texts: toTexts(traces) };
  }
}

export function canCarry(texts: string[]): boolean {
  return texts.reduce((sum, { length }) => sum + length, 0) <= MAX_CARRIED_CHARACTERS;
}

function toColumn(texts: string[]): Uint8Array {
  return compressPieces(texts.map((text) => new TextEncoder().encode(text)));
}

function toTexts(column: ArrayBuffer): string[] {
  return decompressPieces(column).map((piece) => new TextDecoder().decode(piece));
}
