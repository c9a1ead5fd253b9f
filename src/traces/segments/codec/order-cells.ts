import { toDottedOrder } from "../../dotted-order.ts";
import type { TextPacker } from "../../rows/text-packer.ts";
import type { RunVersion } from "./columns.ts";
import type { IdCells } from "./id-cells.ts";
import type { TextCells } from "./text-cells.ts";
import { ID_CHARS } from "./uuids.ts";

/**
 * First character of a stored dotted order: whole, or without its last part (time and id), which follows from the run.
 */
const [WHOLE, CUT] = ["=", "~"];
const CUT_CODE = CUT.charCodeAt(0);
/** Length of the shortest time in a dotted order. */
const TIME_CHARS = toDottedOrder(0, "").length;

/** Dotted orders of a segment's runs. */
export class OrderCells {
  readonly #texts: TextCells | undefined;
  readonly #ids: IdCells;
  readonly #starts: Float64Array;
  /** Last stored text that was decoded. */
  #last = { n: -1, text: "" };

  constructor(texts: TextCells | undefined, ids: IdCells, starts: Float64Array) {
    this.#texts = texts;
    this.#ids = ids;
    this.#starts = starts;
  }

  at(n: number): string | null {
    const text = this.#stored(n);
    if (text === null) return null;
    const order = text.slice(1);
    return text.startsWith(WHOLE) ? order : order + this.#time(n) + this.#ids.at(n);
  }

  /** Copies an order without decoding it where possible. Returns its size in bytes, 0 for null. */
  copyTo(to: TextPacker, n: number): number {
    const stored = this.#texts?.bytesAt(n) ?? null;
    if (stored === null) return to.addNull();
    if (stored[0] !== CUT_CODE || !this.#ids.isUuid(n)) return to.encode(this.at(n) ?? "");
    const prefixBytes = stored.length - 1;
    const time = this.#time(n);
    return to.write(prefixBytes + time.length + ID_CHARS, (bytes, start) => {
      bytes.set(stored.subarray(1), start);
      const at = start + prefixBytes;
      for (let i = 0; i < time.length; i++) bytes[at + i] = time.charCodeAt(i);
      this.#ids.writeUuid(n, bytes, at + time.length);
    });
  }

  /** Whether a run is a descendant of another one: its dotted order continues the other's after a dot. */
  isDescendant(n: number, ancestor: number): boolean {
    const texts = this.#texts;
    if (!texts?.has(n) || !texts.has(ancestor)) return false;
    if (!this.#isCut(n) || !this.#isCut(ancestor)) {
      return this.at(n)?.startsWith(`${this.at(ancestor)}.`) === true;
    }
    // A cut order has no last part, so the stored text of a descendant contains the whole order of its ancestor and a dot.
    const length = texts.sizes[ancestor] ?? 0;
    if ((texts.sizes[n] ?? 0) < length + TIME_CHARS + ID_CHARS + 1) return false;
    return texts.startsWith(n, ancestor) && this.#hasLastPartOf(ancestor, n, length);
  }

  /** Whether the last part of the ancestor's order and a dot are at `start` of a stored text. */
  #hasLastPartOf(ancestor: number, n: number, start: number): boolean {
    const order = this.#texts?.bytesAt(n) ?? new Uint8Array();
    const last = `${this.#time(ancestor)}${this.#ids.at(ancestor)}.`;
    for (let at = 0; at < last.length; at++) {
      if (order[start + at] !== last.charCodeAt(at)) return false;
    }
    return true;
  }

  #isCut(n: number): boolean {
    return this.#texts?.byteAt(n, 0) === CUT_CODE && this.#ids.isUuid(n);
  }

  /** Caches the last text: neighbours often have the same ancestors. */
  #stored(n: number): string | null {
    if (!this.#texts?.has(n)) return null;
    if (!this.#texts.isSame(n, this.#last.n)) this.#last = { n, text: this.#texts.at(n) ?? "" };
    return this.#last.text;
  }

  #time(n: number): string {
    return toDottedOrder(this.#starts[n] ?? 0, "");
  }
}

export function cutOrder({ dotted_order, start_us, id }: RunVersion): string | null {
  if (dotted_order === null) return null;
  const last = toDottedOrder(start_us, id);
  return dotted_order.endsWith(last)
    ? CUT + dotted_order.slice(0, -last.length)
    : WHOLE + dotted_order;
}
