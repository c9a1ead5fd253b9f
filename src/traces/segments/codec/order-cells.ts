import { toDottedOrder } from "../../dotted-order.ts";
import type { TextPacker } from "../../rows/text-packer.ts";
import type { RunVersion } from "./columns.ts";
import type { IdCells } from "./id-cells.ts";
import type { TextCells } from "./text-cells.ts";
import { ID_CHARS } from "./uuids.ts";

/** Marks of a dotted order: stored whole, or without its last part, which follows from the run. */
const [WHOLE, CUT] = ["=", "~"];
const CUT_CODE = CUT.charCodeAt(0);
/** Shortest time of a dotted order. */
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

  copyTo(to: TextPacker, n: number): number {
    const stored = this.#texts?.bytesAt(n) ?? null;
    if (stored === null) return to.addNull();
    if (stored[0] !== CUT_CODE || !this.#ids.isUuid(n)) return to.encode(this.at(n) ?? "");
    const above = stored.length - 1;
    const time = this.#time(n);
    return to.write(above + time.length + ID_CHARS, (bytes, start) => {
      bytes.set(stored.subarray(1), start);
      const at = start + above;
      for (let i = 0; i < time.length; i++) bytes[at + i] = time.charCodeAt(i);
      this.#ids.writeUuid(n, bytes, at + time.length);
    });
  }

  /** Whether a run is below another one: its dotted order continues the other's after a dot. */
  isDescendant(n: number, above: number): boolean {
    const texts = this.#texts;
    if (!texts?.has(n) || !texts.has(above)) return false;
    if (!this.#isCut(n) || !this.#isCut(above)) {
      return this.at(n)?.startsWith(`${this.at(above)}.`) === true;
    }
    // The last part of a cut order has no dot, so the other's order and its dot are in the stored text.
    const length = texts.sizes[above] ?? 0;
    if ((texts.sizes[n] ?? 0) < length + TIME_CHARS + ID_CHARS + 1) return false;
    return texts.startsWith(n, above) && this.#hasLast(n, length, above);
  }

  /** Whether the last part of the order of `above` and a dot are at a place of a stored text. */
  #hasLast(n: number, start: number, above: number): boolean {
    const order = this.#texts?.bytesAt(n) ?? new Uint8Array();
    const last = `${this.#time(above)}${this.#ids.at(above)}.`;
    for (let at = 0; at < last.length; at++) {
      if (order[start + at] !== last.charCodeAt(at)) return false;
    }
    return true;
  }

  #isCut(n: number): boolean {
    return this.#texts?.byteAt(n, 0) === CUT_CODE && this.#ids.isUuid(n);
  }

  /** Runs beside each other often have the same ones above them. */
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
