import {
  IDS,
  type IdName,
  LONG_TEXTS,
  type LongName,
  NUMBERS,
  type NumberName,
  type RunVersion,
  SHORT_TEXTS,
  type ShortName,
} from "./columns.ts";
import type { Frame } from "./frames.ts";
import type { SegmentHead } from "./head.ts";

/** Decodes run `n` of a segment: short columns are in the head, long texts in the frame. */
export function readStored(head: SegmentHead, frame: Frame, n: number): RunVersion {
  return {
    id: head.id("id", n),
    ...columnsOf<NumberName>(NUMBERS, (name) => head.number(name, n)),
    ...columnsOf<IdName>(IDS, (name) => head.id(name, n)),
    ...columnsOf<ShortName>(SHORT_TEXTS, (name) => head.text(name, n)),
    ...columnsOf<LongName>(LONG_TEXTS, (name) => frame.text(name, n)),
    is_patched: head.isPatched(n),
    terms: head.terms.of(n),
    // The columns have the types of the run that was encoded.
  } as RunVersion;
}

function columnsOf<Name extends string>(
  names: readonly Name[],
  read: (name: Name) => string | number | null,
): Record<string, string | number | null> {
  const columns: Record<string, string | number | null> = {};
  for (const name of names) columns[name] = read(name);
  return columns;
}
