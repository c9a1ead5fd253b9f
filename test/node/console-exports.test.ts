import { describe, expect, test } from "vitest";
import {
  EMPTY_BUCKET,
  emptyDraft,
  toEstimate,
  toExportRequest,
  toProbe,
} from "../../src/console/exports/draft.ts";
import { filesText } from "../../src/console/exports/export-status.ts";
import { toRightRows } from "../../src/console/exports/right-rows.ts";
import {
  dueText,
  exportName,
  nextWindow,
  pastWindows,
  rangeText,
} from "../../src/console/exports/windows.ts";
import { summarizeDays, toDayBars } from "../../src/console/pages/export/days.ts";
import { expiryText, keyName, usageText } from "../../src/console/pages/settings/keys/key-age.ts";
import { parseFields } from "../../src/console/ui/conversation/fields.ts";

const NOW = new Date("2026-11-22T12:00:00Z");
const DAY_MS = 24 * 60 * 60 * 1000;
const ago = (days: number) => new Date(NOW.getTime() - days * DAY_MS).toISOString();

describe("the draft of an export", () => {
  const draft = emptyDraft({ project: "p", filter: " eq(is_root, true) " }, NOW);

  test("begins with the last seven days until now, and leaves out what is the default", () => {
    expect(toExportRequest(draft, "d", NOW)).toEqual({
      bulk_export_destination_id: "d",
      session_id: "p",
      start_time: "2026-11-15T00:00:00.000Z",
      end_time: "2026-11-22T12:00:00.000Z",
      filter: "eq(is_root, true)",
      export_fields: null,
      format_version: "v2_beta",
      compression: "zstandard",
    });
  });

  test("has an interval and no end as a schedule", () => {
    const order = toExportRequest({ ...draft, when: "schedule", hours: "6", fields: ["id"] }, "d");
    expect(order).toMatchObject({ interval_hours: 6, late_rows: true, export_fields: ["id"] });
    expect(order).not.toHaveProperty("end_time");
  });

  test("has a table as a schedule only", () => {
    const table = { ...draft, is_table: true };
    expect(toExportRequest({ ...table, when: "schedule" }, "d")).toMatchObject({
      table_format: "iceberg",
    });
    expect(toExportRequest(table, "d")).not.toHaveProperty("table_format");
    expect(toExportRequest({ ...draft, when: "schedule" }, "d")).not.toHaveProperty("table_format");
  });

  test("ends at the chosen time", () => {
    const until = "2026-11-22T08:30";
    const end_time = "2026-11-22T08:30:00.000Z";
    expect(toExportRequest({ ...draft, until }, "d", NOW)).toMatchObject({ end_time });
    expect(toEstimate({ ...draft, until })).toMatchObject({ end_time });
    expect(toEstimate({ ...draft, until, when: "schedule" })).toMatchObject({ end_time: null });
  });

  test("is counted until now, and not while its project or its start is missing", () => {
    expect(toEstimate(draft)).toMatchObject({ end_time: null });
    expect(toEstimate({ ...draft, project: "" })).toBeNull();
    expect(toEstimate({ ...draft, from: "" })).toBeNull();
  });

  test("sends an empty region and endpoint as none", () => {
    const { config } = toProbe({ ...EMPTY_BUCKET, bucket_name: " acme " });
    expect(config).toEqual({
      bucket_name: "acme",
      prefix: "heddle",
      region: null,
      endpoint_url: null,
    });
  });
});

describe("the windows of a schedule", () => {
  const schedule = { start_time: "2026-11-22T08:00:00Z", interval_hours: 2 };

  test.each([
    [[], "next one is due"],
    [["2026-11-22T10:00:00Z"], "next in 10 min"],
    [["2026-11-22T10:00:00Z", "2026-11-22T12:00:00Z"], "next in 2 h 10 min"],
  ])("after the ends %j: %s", (ends, text) => {
    const started = ends.map((end_time) => ({ end_time }));
    expect(dueText(nextWindow(schedule, started), NOW.getTime())).toBe(text);
  });

  test("a schedule from the past has windows that are due at once", () => {
    const start = Date.parse("2026-11-20T00:00:00Z");
    const at = (time: string) => pastWindows(start, 24, Date.parse(time));
    const next = (day: number) => Date.parse(`2026-11-${day}T00:00:00Z`);
    expect(at("2026-11-19T12:00:00Z")).toEqual({ count: 0, next_end: next(21) });
    expect(at("2026-11-22T00:09:59Z")).toEqual({ count: 1, next_end: next(22) });
    expect(at("2026-11-22T00:10:00Z")).toEqual({ count: 2, next_end: next(23) });
  });

  test.each([
    ["2026-11-01T00:00:00.000000Z", "2026-11-22T00:00:00Z", "1 Nov to 22 Nov"],
    ["2025-12-31T00:00:00Z", "2026-11-22T08:30:00Z", "31 Dec 2025 to 22 Nov, 08:30"],
    ["2026-11-22T00:00:00Z", null, "since 22 Nov"],
  ])("the range from %s to %s is %s", (start_time, end_time, text) => {
    expect(rangeText({ start_time, end_time }, NOW)).toBe(text);
  });
});

test.each([
  [{ end_time: "2026-11-22T00:00:00Z", interval_hours: null }, "Export of chat, 1 Nov to 22 Nov"],
  [
    { end_time: "2026-11-01T06:00:00Z", interval_hours: 6 },
    "Export of chat, 1 Nov to 1 Nov, 06:00",
  ],
  [{ end_time: null, interval_hours: 6 }, "Export schedule of chat, every 6 h"],
])("the export %j is named %s", (order, name) => {
  expect(exportName({ start_time: "2026-11-01T00:00:00Z", ...order }, "chat", NOW)).toBe(name);
});

test.each([
  [{ phase: "writing", files_written: 5, files_total: 13 }, "5 of 13 files"],
  [{ phase: "finished", files_written: 1, files_total: 1 }, "1 of 1 file"],
  [{ phase: "finished", files_written: 0, files_total: 0 }, "0 of 0 files"],
  [{ phase: "planning", files_written: 0, files_total: null }, "planning"],
  [{ phase: "finished", files_written: 0, files_total: null }, "ended before its plan"],
] as const)("the progress of an export with %j is %s", (progress, text) => {
  expect(filesText(progress)).toBe(text);
});

test("a right that two checks use is one row, with the worst result", () => {
  const check = (right: string, status: "granted" | "refused", needed_for: string) => {
    const error = status === "refused" ? `AccessDenied: ${needed_for}` : null;
    return { right, status, needed_for, error, is_required: right === "put", remedy: null };
  };
  const [files, parts] = [check("put", "granted", "files"), check("put", "refused", "parts")];
  const get = check("get", "granted", "previews");
  expect(toRightRows([files, parts, get])).toEqual([{ ...parts, needed_for: "files; parts" }, get]);
});

test("a key without a description is named by the beginning of its secret", () => {
  expect(keyName({ description: "CI", short_key: "lsv2_sk_aB3d..." })).toBe("CI");
  expect(keyName({ description: " ", short_key: "lsv2_sk_aB3d..." })).toBe(
    "Unnamed key lsv2_sk_aB3d...",
  );
});

test("the days of a long export are bars of several days, which show the worst state", () => {
  const days = Array.from({ length: 5 }, (_, n) => ({
    id: `day-${n}`,
    status: n === 3 ? "FAILED" : "COMPLETED",
    metadata: {
      start_time: `2026-11-0${n + 1}T00:00:00Z`,
      result: { rows_written: n * 10 },
    },
  })) as unknown as Parameters<typeof toDayBars>[0];
  expect(toDayBars(days, 3)).toEqual([
    { key: "day-0", label: "1 Nov to 2 Nov", rows: 10, state: "completed", height: 0.2 },
    { key: "day-2", label: "3 Nov to 4 Nov", rows: 50, state: "failed", height: 1 },
    { key: "day-4", label: "5 Nov", rows: 40, state: "completed", height: 0.8 },
  ]);
  expect(summarizeDays(days)).toBe("5 days: 4 completed, 1 failed or cancelled; 1 empty");
});

describe("a key", () => {
  test.each([
    [ago(0.5), "within a day", false],
    [ago(89), "89 d ago", false],
    [ago(94), "94 d ago", true],
    [null, "never", true],
  ])("used %s shows %s", (last_used_at, text, isMarked) => {
    const key = { last_used_at, created_at: ago(100) };
    expect(usageText(key, NOW.getTime())).toEqual({ text, isMarked });
  });

  test.each([
    [null, "never", false],
    [ago(-6), "in 6 d", true],
    [ago(1), "expired", true],
    [ago(-20), "12 Dec, 12:00", false],
  ])("that expires %s shows %s", (expires_at, text, isMarked) => {
    expect(expiryText({ expires_at }, NOW.getTime())).toEqual({ text, isMarked });
  });
});

test.each([
  ['{"a": 1}', { value: { a: 1 } }],
  ["[1]", { problem: "Not an object: put the value in { }." }],
  ["{", { problem: expect.stringMatching(/^Not JSON: /) }],
])("the text %s of an item is %j", (text, parsed) => {
  expect(parseFields(text)).toEqual(parsed);
});
