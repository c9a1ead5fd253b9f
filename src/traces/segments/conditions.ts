import type { RunSelection } from "../rows/run-source.ts";
import type { RunSegment } from "./segment.ts";
import type { SegmentStore } from "./store.ts";

/** Returns a test of the nth run of a segment. */
export type SegmentTest = (segment: RunSegment) => (n: number) => boolean;

/** Tests the columns of the head. Runs that start at the time of `after` may pass, whatever their ids. */
export function conditionOf(store: SegmentStore, selection: RunSelection): SegmentTest {
  const { is_root } = selection;
  const { least, greatest, newest } = limitsOf(selection);
  return (segment) => {
    const head = store.head(segment);
    const [starts, seqs] = [head.numbers("start_us"), head.numbers("seq")];
    return (n) => {
      const start = starts[n] ?? 0;
      if (start < least || start > greatest || (seqs[n] ?? 0) > newest) return false;
      return is_root === null || head.isRoot(n) === is_root;
    };
  };
}

/** Returns true only when all runs of a segment, its dead versions included, pass an ascending selection. */
export function passesWhole({ info }: RunSegment, selection: RunSelection): boolean {
  const { after, is_root } = selection;
  const { least, greatest, newest } = limitsOf(selection);
  const isInside = info.min_us >= least && info.max_us <= greatest && info.max_changed <= newest;
  return isInside && is_root === null && after?.start_us !== info.min_us;
}

export function overlaps({ info }: RunSegment, selection: RunSelection): boolean {
  const { least, greatest } = limitsOf(selection);
  const isRecent = info.max_changed >= (selection.min_changed_seq ?? 0);
  return isRecent && info.max_us >= least && info.min_us <= greatest;
}

function limitsOf({ min_start_us, max_start_us, max_seq, after, order }: RunSelection) {
  const from = after !== null && order === "asc" ? after.start_us : Number.NEGATIVE_INFINITY;
  const to = after !== null && order === "desc" ? after.start_us : Number.POSITIVE_INFINITY;
  return {
    least: Math.max(min_start_us ?? Number.NEGATIVE_INFINITY, from),
    greatest: Math.min(max_start_us ?? Number.POSITIVE_INFINITY, to),
    newest: max_seq ?? Number.POSITIVE_INFINITY,
  };
}
