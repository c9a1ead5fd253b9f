import fc from "fast-check";
import { expect, test } from "vitest";
import { dayFolder, manifestKey, partKey } from "../../src/exports/keys.ts";
import { exportRunStatus, progressOf, writeOutcomeOf } from "../../src/exports/states.ts";
import { countDays, daysOf, dueAt, windowOf } from "../../src/exports/windows.ts";
import { DAY_US, toMicros } from "../../src/shared/times.ts";

const at = (text: string) => toMicros(text) ?? Number.NaN;

test("the days of a range tile it, and none reaches past midnight", () => {
  const moment = fc.integer({ min: at("1969-12-01T00:00:00Z"), max: at("2030-01-01T00:00:00Z") });
  fc.assert(
    fc.property(moment, fc.integer({ min: 1, max: 400 * DAY_US }), (start_us, length) => {
      const end_us = start_us + length;
      const days = daysOf({ start_us, end_us });
      expect(days.length).toBe(countDays({ start_us, end_us }));
      expect(days[0]?.start_us).toBe(start_us);
      expect(days.at(-1)?.end_us).toBe(end_us);
      for (const [n, day] of days.entries()) {
        expect(day.end_us).toBeGreaterThan(day.start_us);
        expect(Math.floor((day.end_us - 1) / DAY_US)).toBe(Math.floor(day.start_us / DAY_US));
        if (n > 0) expect(days[n - 1]?.end_us).toBe(day.start_us);
      }
    }),
  );
});

test("window k of a schedule is due ten minutes after its end", () => {
  const start = at("2025-07-16T00:00:00Z");
  expect(windowOf(start, 6, 2)).toEqual({
    start_us: at("2025-07-16T12:00:00Z"),
    end_us: at("2025-07-16T18:00:00Z"),
  });
  expect([0, 1, 2].map((k) => dueAt(start, 6, k))).toEqual([
    "2025-07-16T06:10:00.000Z",
    "2025-07-16T12:10:00.000Z",
    "2025-07-16T18:10:00.000Z",
  ]);
});

test("keys contain export, workspace, project and day, and late rows share the folder of their day", () => {
  const root = { base: "p/", export_id: "E", tenant_id: "T", session_id: "S" };
  const moment = at("2026-08-09T23:59:59.999999Z");
  expect(partKey(dayFolder(root, moment), "part", 7)).toBe(
    "p/export_id=E/tenant_id=T/session_id=S/runs/year=2026/month=8/day=9/part-00007.parquet",
  );
  expect(partKey(dayFolder(root, moment), "late", 7)).toBe(
    "p/export_id=E/tenant_id=T/session_id=S/runs/year=2026/month=8/day=9/late-00007.parquet",
  );
  expect(dayFolder(root, at("1969-12-31T23:59:59Z"))).toMatch(/year=1969\/month=12\/day=31$/);
  expect(manifestKey(root)).toBe("p/_exports/E/_manifest.json");
});

test.each([
  [{}, "RUNNING", "COMPLETED"],
  [{ WAITING: 2 }, "RUNNING", "CREATED"],
  [{ WAITING: 1, COMPLETED: 1 }, "RUNNING", "RUNNING"],
  [{ RUNNING: 1, WAITING: 1 }, "RUNNING", "RUNNING"],
  [{ COMPLETED: 3 }, "RUNNING", "COMPLETED"],
  [{ COMPLETED: 2, FAILED: 1, WAITING: 1 }, "RUNNING", "FAILED"],
  [{ COMPLETED: 1, CANCELLED: 1 }, "CANCELLED", "CANCELLED"],
  [{ COMPLETED: 1, TIMEDOUT: 1 }, "TIMEDOUT", "TIMEDOUT"],
] as const)("a day with the files %j of an export that is %s is %s", (files, status, expected) => {
  expect(exportRunStatus(files, status)).toBe(expected);
});

test.each([
  [{}, "written"],
  [{ COMPLETED: 1 }, "written"],
  [{ COMPLETED: 1, FAILED: 1 }, "failed"],
  [{ FAILED: 1, WAITING: 1 }, "pending"],
  [{ RUNNING: 1 }, "pending"],
] as const)("an export with the files %j is %s", (files, expected) => {
  expect(writeOutcomeOf(files)).toBe(expected);
});

test("progress estimates the remaining time from the rows written", () => {
  const tally = {
    rows_written: 25,
    late_rows_written: 0,
    rows_total: 100,
    bytes_written: 10,
    files_written: 1,
    files_total: 4,
  };
  const planned_at = "2026-11-20T00:00:00.000Z";
  const now = new Date("2026-11-20T00:00:10.000Z");
  const running = progressOf(tally, { status: "RUNNING", planned_at, now });
  expect(running).toMatchObject({ phase: "writing", fraction: 0.25, seconds_left: 30 });
  const queued = progressOf(tally, { status: "CREATED", planned_at: null, now });
  expect(queued).toMatchObject({ phase: "queued", rows_total: null, fraction: null });
  const empty = { ...tally, rows_written: 0, rows_total: 0, files_total: 0, files_written: 0 };
  const ended = progressOf(tally, { status: "COMPLETED", planned_at, now });
  expect(ended).toMatchObject({ phase: "finished", fraction: 1 });
  const done = progressOf(empty, { status: "COMPLETED", planned_at, now });
  expect(done).toMatchObject({ phase: "finished", fraction: 1, seconds_left: null });
});
