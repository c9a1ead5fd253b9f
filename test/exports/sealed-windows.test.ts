import { afterEach, describe, expect, test, vi } from "vitest";
import { consumeFile } from "../../src/exports/progress/consumer.ts";
import { readRows } from "../support/parquet.ts";
import { batch, idAt, patch, wireRun } from "../traces/support/runs.ts";
import { carryOn, given, readFiles, readObject } from "./support/exports.ts";
import {
  ALL,
  countPages,
  countReads,
  DAY,
  deleteSealed,
  exportDay,
  NOON,
  planned,
  type Scene,
  SLOW_MS,
  scene,
  sealedKeys,
} from "./support/sealed.ts";

afterEach(async () => {
  vi.restoreAllMocks();
  await deleteSealed();
});

const at = (time: string) => Date.parse(time) * 1000;

describe("a part of a sealed day", () => {
  test(
    "is copied whole when its limits have no row of another part",
    async () => {
      const one = await scene();
      const parts = [
        { end_us: at(`${DAY}T18:00:00Z`) },
        { start_us: at(NOON), export_fields: ["id", "error", "outputs"] },
        { start_us: at(NOON), end_us: at(`${DAY}T13:00:00Z`) },
      ];
      await exportDay(one);
      const [keys, pages] = [await sealedKeys(one), countPages(one)];
      for (const part of parts) {
        const encoded = await exportDay(one, { ...part, filter: ALL });
        const before = pages();
        expect([await exportDay(one, part), pages()]).toEqual([encoded, before]);
      }
      expect(await sealedKeys(one)).toEqual(keys);
    },
    SLOW_MS,
  );

  test(
    "copies row groups, and reads the rows at its limits",
    async () => {
      // Four row groups of 493 rows.
      const one = await scene(17_000, 1500);
      await exportDay(one);
      const times = { start_us: at(`${DAY}T12:05:00Z`), end_us: at(`${DAY}T12:23:20Z`) };
      const read = async (fields: object) => {
        const { row, files } = await planned(one, { ...times, ...fields });
        const counted = countReads();
        await consumeFile(counted.env, { bulk_export_file_id: files[0]?.id ?? "" });
        await carryOn(row.id);
        const [file] = await readFiles(row.id);
        const rows = await readRows(new Uint8Array(await readObject(file?.key ?? "")));
        return { rows, file, reads: counted.reads };
      };
      const encoded = await read({ filter: ALL });
      const copied = await read({});
      expect(copied.rows.length).toBe(1100);
      expect(copied.rows).toEqual(encoded.rows);
      const { min_start_us, max_start_us } = encoded.file ?? {};
      expect(copied.file).toMatchObject({ rows_written: 1100, min_start_us, max_start_us });
      // A footer and at most the bytes of one group in reads of 4 MiB.
      expect([encoded.reads.calls, copied.reads.calls > 1]).toEqual([0, true]);
      expect(copied.reads.bytes).toBeLessThan(9 * 1024 * 1024);
    },
    SLOW_MS,
  );
});

test(
  "an export of several days reads no row of those that are sealed",
  async () => {
    const one = await scene();
    const { ours, project } = one;
    const [before, next, after] = ["2026-05-06", "2026-05-08", "2026-05-09"];
    const more = { project_id: project, count: 1000 };
    await given(ours, { ...more, from: `${before}T20:00:00Z`, count: 10 });
    await given(ours, { ...more, from: `${next}T12:00:00Z` });
    await given(ours, { ...more, from: `${after}T03:00:00Z`, count: 10 });
    await crossMidnight(one, `${next}T00:00:05Z`, `${DAY}T23:59:55Z`);
    await exportDay(one);
    await exportDay(one, { start_us: at(`${next}T00:00:00Z`), end_us: at(`${after}T00:00:00Z`) });

    const times = { start_us: at(`${before}T18:00:00Z`), end_us: at(`${after}T06:00:00Z`) };
    const encoded = await exportDay(one, { ...times, filter: ALL });
    const pages = countPages(one);
    expect(await exportDay(one, times)).toEqual(encoded);
    // A page of each part, and of the run that is in the partition of the next day.
    expect([pages(before), pages(DAY), pages(next), pages(after)]).toEqual([1, 0, 1, 1]);
  },
  SLOW_MS,
);

/** Moves the start of a run to the day before its partition's. */
async function crossMidnight({ ours, project }: Scene, from: string, to: string): Promise<void> {
  const id = idAt(Date.parse(from));
  const { session_name: _, ...run } = wireRun("", { id }, { at: Date.parse(from) });
  await batch(ours.editor, [{ ...run, session_id: project }]);
  const response = await patch(ours.editor, id, { start_time: to });
  if (!response.ok) throw new Error(await response.text());
}
