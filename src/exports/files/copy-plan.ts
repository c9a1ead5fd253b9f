import type { Position, ScanChunk } from "../../traces/scan/scan-service.ts";
import type { SealedFile } from "../../traces/scan/sealed-service.ts";
import type { TimedGroup } from "../parquet/footer.ts";

export type SealedGroups = { file: SealedFile; groups: TimedGroup[] };
/** Rows to encode, or row groups to copy. */
export type CopyStep = { rows: ScanChunk } | SealedGroups;

/**
 * Divides the rows of a chunk into row groups of sealed files, and the rows outside of these groups. Footers have times
 * and no ids, so neighbouring groups are separated only where their times do not overlap.
 */
export function planCopy(chunk: ScanChunk, files: readonly SealedGroups[]): CopyStep[] {
  const steps: CopyStep[] = [];
  let rest: ScanChunk | null = chunk;
  for (const { file, groups } of files) {
    if (rest === null) break;
    const open: ScanChunk = rest;
    const first = groups.findIndex((_, n) => isStart(open, file, groups, n));
    const last = groups.findLastIndex((_, n) => isEnd(open, file, groups, n));
    if (first === -1 || last < first) continue;
    const before = rowsBefore(open, file, groups, first);
    if (before !== null) steps.push({ rows: before });
    steps.push({ file, groups: groups.slice(first, last + 1) });
    rest = rowsAfter(open, file, groups, last);
  }
  if (rest !== null) steps.push({ rows: rest });
  return steps;
}

/** Whether a copy can begin with group n: its first row is in the range, at a place where the rows can be cut. */
function isStart(rows: ScanChunk, file: SealedFile, groups: TimedGroup[], n: number): boolean {
  const start = groups[n]?.min_start_us ?? Number.NaN;
  if (start < rows.from_us || Number.isNaN(start)) return false;
  if (n === 0 && isSame(rows.after, file.after)) return true;
  const isCut = n === 0 || isApart(groups, n);
  return isCut && (rows.after === null || rows.after.start_us < start);
}

/** Whether a copy can end with group n: its last row is in the range, at a place where the rows can be cut. */
function isEnd(rows: ScanChunk, file: SealedFile, groups: TimedGroup[], n: number): boolean {
  const end = groups[n]?.max_start_us ?? Number.NaN;
  if (end >= rows.to_us || Number.isNaN(end)) return false;
  const isLast = n === groups.length - 1;
  if (isLast && isSame(rows.until, file.until)) return true;
  const isCut = isLast || isApart(groups, n + 1);
  return isCut && (rows.until === null || end < rows.until.start_us);
}

/** Whether group n begins later than the group before it ends. */
function isApart(groups: TimedGroup[], n: number): boolean {
  return (groups[n - 1]?.max_start_us ?? Infinity) < (groups[n]?.min_start_us ?? -Infinity);
}

function rowsBefore(
  rows: ScanChunk,
  { after }: SealedFile,
  groups: TimedGroup[],
  first: number,
): ScanChunk | null {
  if (first > 0) return { ...rows, to_us: groups[first]?.min_start_us ?? rows.to_us, until: null };
  // The first file of a day has no `after`.
  const isFirst = after === null || isSame(rows.after, after);
  return isFirst ? null : { ...rows, until: after };
}

function rowsAfter(
  rows: ScanChunk,
  { until }: SealedFile,
  groups: TimedGroup[],
  last: number,
): ScanChunk | null {
  const next = groups[last + 1];
  if (next !== undefined) {
    return next.min_start_us < rows.to_us ? { ...rows, from_us: next.min_start_us } : null;
  }
  // The last file of a day has no `until`.
  return until === null || isSame(rows.until, until) ? null : { ...rows, after: until };
}

function isSame(a: Position | null, b: Position | null): boolean {
  return a?.start_us === b?.start_us && a?.id === b?.id;
}
