import type { PairSource } from "../changes.ts";
import type { Pair } from "../digest.ts";
import type { TraceRunRow } from "./rows.ts";
import type { TextPacker } from "./text-packer.ts";

/** Columns of texts. */
export type TextName =
  | {
      [Name in keyof TraceRunRow]: string extends TraceRunRow[Name] ? Name : never;
    }[keyof TraceRunRow]
  | "status";

/**
 * Live run as filters and statistics read it. Stores decode a column when it is read: a filter
 * must not unpack payloads to compare a name. Usage is the run's own.
 */
export interface RunView extends Readonly<TraceRunRow> {
  /** Number of the run: each new run of the partition gets a greater one. */
  readonly row: number;
  readonly changed_seq: number;
  /** Lowercase. */
  readonly search_text: string;
  readonly tag_list: readonly string[];
  /** Returns false only when `search_text` lacks one of the words, which are lowercase and look the same in JSON. */
  mayHaveWords(words: readonly string[]): boolean;
  /** Pairs within the limits of the index, as `digest.ts` writes them. */
  pairs(of: PairSource): readonly Pair[];
  /** Copies a text without a string. Returns its size in UTF-8, 0 for null. */
  copyText(to: TextPacker, name: TextName): number;
  /** Returns the run with another start. */
  startingAt(start_us: number): RunView;
}

export type RunTest = (run: RunView) => boolean;
