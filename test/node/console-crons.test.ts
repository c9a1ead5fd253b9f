import { describe, expect, test } from "vitest";
import {
  inputPart,
  inputText,
  planOf,
  toRequest,
} from "../../src/console/pages/crons/cron-draft.ts";
import { nextFirings } from "../../src/console/pages/crons/next-firings.ts";

describe("the input of a cron", () => {
  test.each([
    ["no input", { payload: {} }, "null"],
    ["an empty input", { payload: { input: {} } }, "{}"],
    ["a text", { payload: { input: "go" } }, '"go"'],
  ])("is sent when the text of a cron with %s is edited, not otherwise", (_, cron, initial) => {
    expect(inputText(cron)).toBe(initial);
    const value = JSON.parse(initial);
    expect(inputPart(cron, { initial, text: initial, value })).toEqual({});
    expect(inputPart(cron, { initial, text: "[1]", value: [1] })).toEqual({ input: [1] });
  });

  test("is sent for a new cron, edited or not", () => {
    const initial = inputText(undefined);
    expect(inputPart(undefined, { initial, text: initial, value: {} })).toEqual({ input: {} });
  });
});

describe("the next runs of a schedule", () => {
  const now = new Date("2026-11-22T12:00:00Z");
  const runs = (schedule: string, timezone = "", end_time = "") =>
    nextFirings({ schedule, timezone, end_time }, now);

  test("are in its time zone, up to its end", () => {
    const { times } = runs("0 9 * * *", "Asia/Tokyo", "2026-11-24T12:00:00Z");
    expect(times.map((time) => time.toISOString())).toEqual([
      "2026-11-23T00:00:00.000Z",
      "2026-11-24T00:00:00.000Z",
    ]);
  });

  test.each([
    ["* * * * * *", "", /it has 6/],
    ["61 * * * *", "", /^Invalid schedule: .*61/],
    ["0 0 31 2 *", "", /never fires/],
    ["* * * * *", "Mars/Base", /Mars/],
  ])("%s in %s is refused", (schedule, zone, reason) => {
    expect(runs(schedule, zone).problem).toMatch(reason);
  });
});

test("a cron keeps the seconds of its end unless the end is edited", () => {
  const cron = {
    schedule: "0 9 * * *",
    timezone: "UTC",
    end_time: "2026-12-01T09:30:45Z",
  } as never;
  const plan = planOf(cron);
  expect(toRequest(plan, cron).end_time).toBe("2026-12-01T09:30:45Z");
  const edited = { ...plan, ends: "2026-12-01T09:31" };
  expect(toRequest(edited, cron).end_time).toBe("2026-12-01T09:31:00Z");
  expect(toRequest({ ...plan, ends: "" }, cron).end_time).toBeNull();
});
