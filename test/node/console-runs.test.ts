import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/console/alerts/alert-texts.ts";
import {
  inputPart,
  inputText,
  planOf,
  toRequest,
} from "../../src/console/pages/crons/cron-draft.ts";
import { nextFirings } from "../../src/console/pages/crons/next-firings.ts";
import { parseFilter, withTexts } from "../../src/console/pages/threads/filter.ts";
import { tagsOf, titleOf } from "../../src/console/pages/threads/title.ts";

test("a filter of threads is read as it is typed", () => {
  const id = "019A2b3c-4d5e-7f60-8a1b-2c3d4e5f6071";
  expect(parseFilter(`user=u_1 n=5 name="a b" values.city=Bern ${id} -cron_id words`)).toEqual({
    filter: {
      ids: [id.toLowerCase()],
      metadata: { user: "u_1", n: 5, name: "a b" },
      without_metadata: ["cron_id"],
      values: { city: "Bern" },
    },
    unparsed: "words",
  });
  expect(parseFilter("")).toEqual({ filter: {}, unparsed: null });
});

test.each([
  [{ first: " Where is it? " }, "Where is it?"],
  [{ first: [{ type: "image" }, { type: "text", text: "Look" }] }, "Look"],
  [{ first: null, id: "INV-1" }, "INV-1"],
  [{}, "t-1"],
])("a thread with %j has the title %s", (extracted, title) => {
  expect(titleOf({ thread_id: "t-1", extracted })).toBe(title);
});

test("tags of a thread leave out what the service writes, and a cut one ends with dots", () => {
  const metadata = {
    graph_id: "g",
    assistant_id: "a",
    user: "u",
    n: 1,
    long: "x".repeat(999),
    z: 1,
  };
  const long = `long: ${"x".repeat(194)}…`;
  expect(tagsOf({ metadata })).toEqual(["user: u", "n: 1", long, "z: 1"]);
});

test.each([
  ["user_id=1042", 'user_id="1042"'],
  ["a=b paid=true values.n=null -c", 'a=b paid="true" values.n="null" -c'],
  ['user_id="1042"', null],
  ["a={} b=x c", null],
])("the filter %s is as texts %s", (text, quoted) => {
  expect(withTexts(text)).toBe(quoted);
});

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

test.each([
  [{ metric: "error_rate", threshold: 0.125 }, "Error rate ≥ 12.5% in 5 min"],
  [{ metric: "latency_p95", threshold: 1.25 }, "Latency, p95 ≥ 1.25 s in 5 min"],
])("an alert shows its threshold as it is: %j", (part, text) => {
  expect(conditionOf({ operator: "gte", window_minutes: 5, ...part } as never)).toBe(text);
});
