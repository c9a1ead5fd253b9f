import type { PairSource } from "../changes.ts";
import type { Pair } from "../digest.ts";
import type { RunView, TextName } from "../rows/run-view.ts";
import type { TextPacker } from "../rows/text-packer.ts";
import {
  IDS,
  type IdName,
  LONG_TEXTS,
  type LongName,
  SHORT_TEXTS,
  type ShortName,
} from "./codec/columns.ts";
import type { Frame } from "./codec/frames.ts";
import type { SegmentHead } from "./codec/head.ts";
import { mayHaveWords, readPairs, searchTextOf } from "./digests.ts";
import type { RunSegment } from "./segment.ts";
import type { SegmentStore } from "./store.ts";

type StoredText =
  | { encoding: "long"; name: LongName }
  | { encoding: "id"; name: IdName | "id" }
  | { encoding: "dotted_order" }
  | { encoding: "short"; name: Exclude<ShortName, "dotted_order"> };

/** Where a segment stores each text. Texts that are not here, such as `status`, are computed. */
const STORED_TEXTS = new Map<string, StoredText>([
  ...LONG_TEXTS.map((name): [string, StoredText] => [name, { encoding: "long", name }]),
  ...(["id", ...IDS] as const).map((name): [string, StoredText] => [
    name,
    { encoding: "id", name },
  ]),
  ...SHORT_TEXTS.map((name): [string, StoredText] => [
    name,
    name === "dotted_order" ? { encoding: "dotted_order" } : { encoding: "short", name },
  ]),
]);

/** Live run of a segment. Columns are decoded when they are read. */
export class SegmentRun implements RunView {
  readonly segment: RunSegment;
  /** Index of the run in its segment. */
  readonly n: number;
  readonly #store: SegmentStore;
  /** Ids, numbers and short texts of all runs of the segment. */
  readonly #head: SegmentHead;
  /** Unpacked long texts of this run and its neighbours, loaded on first use. */
  #frame: Frame | null = null;
  #dottedOrder: string | null | undefined = undefined;

  constructor(store: SegmentStore, segment: RunSegment, n: number) {
    this.#store = store;
    this.segment = segment;
    this.n = n;
    this.#head = store.head(segment);
  }

  get id() {
    return this.#head.id("id", this.n) ?? "";
  }
  get trace_id() {
    return this.#head.id("trace_id", this.n) ?? "";
  }
  get parent_run_id() {
    return this.#head.id("parent_run_id", this.n);
  }
  get reference_example_id() {
    return this.#head.id("reference_example_id", this.n);
  }
  get row() {
    return this.#head.number("row", this.n) ?? 0;
  }
  get seq() {
    return this.#head.number("seq", this.n) ?? 0;
  }
  get changed_seq() {
    return this.#head.number("changed_seq", this.n) ?? 0;
  }
  get start_us() {
    return this.#head.number("start_us", this.n) ?? 0;
  }
  get end_us() {
    return this.#head.number("end_us", this.n);
  }
  get first_token_us() {
    return this.#head.number("first_token_us", this.n);
  }
  get execution_order() {
    return this.#head.number("execution_order", this.n);
  }
  get total_tokens() {
    return this.#head.number("total_tokens", this.n);
  }
  get prompt_tokens() {
    return this.#head.number("prompt_tokens", this.n);
  }
  get completion_tokens() {
    return this.#head.number("completion_tokens", this.n);
  }
  get total_cost() {
    return this.#head.text("total_cost", this.n);
  }
  get prompt_cost() {
    return this.#head.text("prompt_cost", this.n);
  }
  get completion_cost() {
    return this.#head.text("completion_cost", this.n);
  }
  get name() {
    return this.#head.text("name", this.n) ?? "Unnamed";
  }
  get run_type() {
    return this.#head.text("run_type", this.n) ?? "chain";
  }
  get status() {
    if (this.#head.hasError(this.n)) return "error";
    return this.end_us === null ? "pending" : "success";
  }
  get is_root() {
    return this.#head.isRoot(this.n) ? 1 : 0;
  }
  get dotted_order() {
    // Rebuilt from parts at each read, so it is cached.
    if (this.#dottedOrder === undefined)
      this.#dottedOrder = this.#head.text("dotted_order", this.n);
    return this.#dottedOrder;
  }
  get thread_id() {
    return this.#head.text("thread_id", this.n);
  }
  get trace_tier() {
    return this.#head.text("trace_tier", this.n);
  }
  get tags() {
    return this.#head.text("tags", this.n);
  }
  get pointers() {
    return this.#head.text("pointers", this.n);
  }
  get inputs() {
    return this.#payload("inputs");
  }
  get outputs() {
    return this.#payload("outputs");
  }
  get extra() {
    return this.#payload("extra");
  }
  get events() {
    return this.#payload("events");
  }
  get serialized() {
    return this.#payload("serialized");
  }
  get error() {
    return this.#head.hasError(this.n) ? this.#payload("error") : null;
  }
  get digests() {
    return this.pointers === null ? null : this.#payload("digests");
  }
  get input_keys() {
    return this.#head.number("input_keys", this.n);
  }
  get output_keys() {
    return this.#head.number("output_keys", this.n);
  }
  /** `null` until a name is sent: `name` has a default. */
  get sent_name() {
    return this.#head.text("name", this.n);
  }
  get tag_list(): readonly string[] {
    return this.tags === null ? [] : JSON.parse(this.tags);
  }
  get search_text() {
    return searchTextOf(this);
  }

  mayHaveWords(words: readonly string[]): boolean {
    return mayHaveWords(this, words);
  }

  pairs(of: PairSource): readonly Pair[] {
    return readPairs(this, of);
  }

  copyText(to: TextPacker, name: TextName): number {
    const stored = STORED_TEXTS.get(name);
    switch (stored?.encoding) {
      case "long":
        return this.#loadFrame().copyText(to, stored.name, this.n);
      case "id":
        return this.#head.copyId(to, stored.name, this.n);
      case "dotted_order":
        return this.#head.copyOrder(to, this.n);
      case "short":
        if (this.#head.hasText(stored.name, this.n))
          return this.#head.copyText(to, stored.name, this.n);
        break;
      case undefined:
        break;
    }
    const text = this[name];
    return text === null ? to.addNull() : to.encode(text);
  }

  startingAt(start_us: number): SegmentRun {
    return new MovedRun(this.#store, this, start_us);
  }

  #payload(name: LongName): string | null {
    return this.#loadFrame().text(name, this.n);
  }

  #loadFrame(): Frame {
    this.#frame ??= this.#store.frame(this.segment, this.n);
    return this.#frame;
  }
}

/** Run with the start that it had before a change. */
class MovedRun extends SegmentRun {
  readonly #startUs: number;

  constructor(store: SegmentStore, { segment, n }: SegmentRun, start_us: number) {
    super(store, segment, n);
    this.#startUs = start_us;
  }

  override get start_us() {
    return this.#startUs;
  }
}
