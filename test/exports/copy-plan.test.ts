import fc from "fast-check";
import { expect, test } from "vitest";
import { type CopyStep, planCopy, type SealedGroups } from "../../src/exports/files/copy-plan.ts";
import type { TimedGroup } from "../../src/exports/parquet/footer.ts";
import type { Position, ScanChunk } from "../../src/traces/scan/scan-service.ts";

const DAY = 40;
const anyTimes = fc.array(fc.integer({ min: 0, max: DAY - 1 }), { minLength: 1, maxLength: 40 });
const anySizes = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 8 });
const anyEnds = fc.tuple(fc.nat({ max: DAY }), fc.nat({ max: DAY }));
const anyPositions = fc.tuple(fc.option(fc.nat({ max: 40 })), fc.option(fc.nat({ max: 40 })));

/** Splits a list at sizes that repeat. */
function split<T>(items: readonly T[], sizes: readonly number[]): T[][] {
  const lists: T[][] = [];
  for (let at = 0; at < items.length; at += lists.at(-1)?.length ?? 1) {
    lists.push(items.slice(at, at + (sizes[lists.length % sizes.length] ?? 1)));
  }
  return lists;
}

/** Seals a day: files of some groups, with positions between files as plans cut them. */
function seal(rows: Position[], groupSizes: number[], fileSizes: number[]): SealedGroups[] {
  const files = split(split(rows, groupSizes), fileSizes);
  return files.map((groups, n) => ({
    file: {
      ...{ key: `${n}`, rows: 0, bytes: 0, sha256: "", digests: [] },
      min_start_us: groups[0]?.[0]?.start_us ?? null,
      max_start_us: groups.at(-1)?.at(-1)?.start_us ?? null,
      after: n === 0 ? null : (files[n - 1]?.at(-1)?.at(-1) ?? null),
      until: n === files.length - 1 ? null : (groups.at(-1)?.at(-1) ?? null),
    },
    groups: groups.map((members) => ({
      members,
      group: { columns: [], num_rows: 0n, total_byte_size: 0n },
      min_start_us: members[0]?.start_us ?? 0,
      max_start_us: members.at(-1)?.start_us ?? 0,
    })),
  }));
}

const isBehind = (row: Position, at: Position) =>
  row.start_us > at.start_us || (row.start_us === at.start_us && row.id > at.id);

function scan(rows: Position[], { from_us, to_us, after, until }: ScanChunk): Position[] {
  return rows.filter(
    (row) =>
      row.start_us >= from_us &&
      row.start_us < to_us &&
      (after === null || isBehind(row, after)) &&
      (until === null || !isBehind(row, until)),
  );
}

function rowsOf(rows: Position[], steps: CopyStep[]): Position[] {
  return steps.flatMap((step) =>
    "rows" in step
      ? scan(rows, step.rows)
      : step.groups.flatMap((group: TimedGroup & { members?: Position[] }) => group.members ?? []),
  );
}

const toRows = (times: number[]): Position[] =>
  times
    .toSorted((a, b) => a - b)
    .map((start_us, n) => ({ start_us, id: String(n).padStart(2, "0") }));

const WHOLE: ScanChunk = {
  ...{ from_us: 0, to_us: DAY, after: null, until: null, min_seq: null, max_seq: 1 },
  ...{ partition: { project_id: "", day: "", slot: 0 }, rows: 0, bytes: 0 },
};

test("copied groups and the rows between them are those of the chunk, each once and in order", () => {
  let copies = 0;
  fc.assert(
    fc.property(
      fc.record({ times: anyTimes, groups: anySizes, files: anySizes, ends: anyEnds }),
      anyPositions,
      ({ times, groups, files, ends }, [first, last]) => {
        const rows = toRows(times);
        const sealed = seal(rows, groups, files);
        const [from_us, to_us] = [Math.min(...ends), Math.max(...ends)];
        const chunk = { ...WHOLE, from_us, to_us };
        const inside = scan(rows, chunk);
        // Positions of a plan are rows of its range, of which the later one ends the piece.
        const after = inside[first ?? -1] ?? null;
        const behind = inside.filter((row) => after === null || isBehind(row, after));
        const piece = { ...chunk, after, until: behind[last ?? -1] ?? null };
        const steps = planCopy(piece, sealed);
        expect(rowsOf(rows, steps)).toEqual(scan(rows, piece));
        if (steps.some((step) => "groups" in step)) copies += 1;
      },
    ),
    { numRuns: 2000 },
  );
  expect(copies).toBeGreaterThan(200);
});

test("a file of the same piece is copied whole, whatever the times of its neighbours", () => {
  fc.assert(
    fc.property(anyTimes, anySizes, anySizes, (times, groupSizes, fileSizes) => {
      const sealed = seal(toRows(times), groupSizes, fileSizes);
      for (const { file, groups } of sealed) {
        const { after, until } = file;
        const steps = planCopy({ ...WHOLE, after, until }, [{ file, groups }]);
        expect(steps).toEqual([{ file, groups }]);
      }
    }),
  );
});
