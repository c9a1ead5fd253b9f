import type { TextPacker } from "../../rows/text-packer.ts";
import { buildBloom } from "./bloom.ts";
import { ByteReader, ByteWriter } from "./bytes.ts";
import {
  IDS,
  type IdName,
  NUMBERS,
  type NumberName,
  type RunVersion,
  SHORT_TEXTS,
  type ShortName,
} from "./columns.ts";
import type { FrameEntry } from "./frames.ts";
import { compareIds, IdCells, writeIds, writeIdsWithoutUuids } from "./id-cells.ts";
import { cutOrder, OrderCells } from "./order-cells.ts";
import { TermIndex, writeTerms } from "./term-index.ts";
import type { TextCells } from "./text-cells.ts";

const [IS_PATCHED, HAS_ERROR] = [1, 2];
const writer = new ByteWriter();

/**
 * Columns of a segment's runs without their long texts, and where its frames are. `n` is the number of a run in the
 * segment.
 */
export class SegmentHead {
  readonly runs: number;
  readonly frames: FrameEntry[];
  readonly terms: TermIndex;
  readonly bytes: number;
  readonly #numbers = new Map<NumberName, Float64Array>();
  readonly #ids = new Map<IdName | "id", IdCells>();
  readonly #texts = new Map<ShortName, TextCells>();
  readonly #flags: Uint8Array;
  readonly #orders: OrderCells;

  /** @param idBytes keys of the runs, as `writeKey` writes them: UUIDs, hashes of other ids */
  constructor(bytes: Uint8Array, idBytes: Uint8Array) {
    const reader = new ByteReader(bytes);
    this.bytes = bytes.length;
    this.runs = reader.u32();
    const frames = reader.u32();
    for (const name of NUMBERS) this.#numbers.set(name, reader.f64s(this.runs));
    this.frames = Array.from({ length: frames }, () => ({
      first: reader.u32(),
      offset: reader.u32(),
      packed_bytes: reader.u32(),
      raw_bytes: reader.u32(),
    }));
    this.#flags = reader.take(this.runs);
    const ids = IdCells.read(reader, this.runs, idBytes);
    this.#ids.set("id", ids);
    for (const name of IDS) this.#ids.set(name, IdCells.read(reader, this.runs));
    for (const name of SHORT_TEXTS) this.#texts.set(name, reader.texts(this.runs));
    this.#orders = new OrderCells(this.#texts.get("dotted_order"), ids, this.numbers("start_us"));
    this.terms = new TermIndex(reader);
  }

  numbers(name: NumberName): Float64Array {
    return this.#numbers.get(name) ?? new Float64Array();
  }

  number(name: NumberName, n: number): number | null {
    const value = this.#numbers.get(name)?.[n] ?? Number.NaN;
    return Number.isNaN(value) ? null : value;
  }

  id(name: IdName | "id", n: number): string | null {
    return this.#ids.get(name)?.at(n) ?? null;
  }

  text(name: ShortName, n: number): string | null {
    return name === "dotted_order" ? this.#orders.at(n) : (this.#texts.get(name)?.at(n) ?? null);
  }

  compareIds(n: number, other: SegmentHead, m: number): number {
    const [a, b] = [this.#ids.get("id"), other.#ids.get("id")];
    return a === undefined || b === undefined ? 0 : compareIds(a, n, b, m);
  }

  /** Returns the UUIDs of a column as words, zeros for other ids. */
  idWords(name: IdName): Uint32Array {
    return this.#ids.get(name)?.words() ?? new Uint32Array();
  }

  hasUuid(name: IdName, n: number): boolean {
    return this.#ids.get(name)?.isUuid(n) ?? false;
  }

  /** Whether a run is a descendant of another one, by their dotted orders. */
  isDescendant(n: number, ancestor: number): boolean {
    return this.#orders.isDescendant(n, ancestor);
  }

  hasUsage(n: number): boolean {
    return this.number("total_tokens", n) !== null || this.hasText("total_cost", n);
  }

  /** Returns the number of the frame that has a run's long texts. */
  frameOf(n: number): number {
    let at = this.frames.length - 1;
    while (at > 0 && (this.frames[at]?.first ?? 0) > n) at -= 1;
    return at;
  }

  hasText(name: ShortName, n: number): boolean {
    return this.#texts.get(name)?.has(n) ?? false;
  }

  copyId(to: TextPacker, name: IdName | "id", n: number): number {
    return this.#ids.get(name)?.copyTo(to, n) ?? to.addNull();
  }

  copyText(to: TextPacker, name: Exclude<ShortName, "dotted_order">, n: number): number {
    return this.#texts.get(name)?.copyTo(to, n) ?? to.addNull();
  }

  copyOrder(to: TextPacker, n: number): number {
    return this.#orders.copyTo(to, n);
  }

  isPatched(n: number): boolean {
    return ((this.#flags[n] ?? 0) & IS_PATCHED) !== 0;
  }

  hasError(n: number): boolean {
    return ((this.#flags[n] ?? 0) & HAS_ERROR) !== 0;
  }

  isRoot(n: number): boolean {
    return this.#ids.get("parent_run_id")?.has(n) === false;
  }
}

/**
 * Encodes the head without the UUIDs of the runs: the table has them in its column `ids`.
 * @returns the head before compression, valid until the next call, and the filter of its terms
 */
export function encodeHead(runs: RunVersion[], frames: FrameEntry[]) {
  writer.reset();
  writer.u32(runs.length);
  writer.u32(frames.length);
  for (const name of NUMBERS) {
    writer.numbers(Float64Array.from(runs, (run) => run[name] ?? Number.NaN));
  }
  for (const { first, offset, packed_bytes, raw_bytes } of frames) {
    for (const value of [first, offset, packed_bytes, raw_bytes]) writer.u32(value);
  }
  writer.bytes(Uint8Array.from(runs, flagsOf));
  writeIdsWithoutUuids(
    writer,
    runs.map(({ id }) => id),
  );
  for (const name of IDS) {
    writeIds(
      writer,
      runs.map((run) => run[name]),
    );
  }
  for (const name of SHORT_TEXTS) {
    writer.texts(runs.map((run) => (name === "dotted_order" ? cutOrder(run) : run[name])));
  }
  const bloom = buildBloom(writeTerms(writer, runs));
  return { head: writer.written, bloom };
}

function flagsOf({ is_patched, error }: RunVersion): number {
  return (is_patched ? IS_PATCHED : 0) | (error === null ? 0 : HAS_ERROR);
}
