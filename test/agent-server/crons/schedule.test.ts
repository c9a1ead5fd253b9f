import { expect, test } from "vitest";
import { nextFiring, scheduleProblem } from "../../../src/agent-server/crons/schedule.ts";

const at = (text: string) => Date.parse(text);

test.each([
  ["*/15 * * * *", null, "2026-11-21T10:01:00Z", "2026-11-21T10:15:00Z"],
  ["0 9 * * 1-5", null, "2026-11-21T10:00:00Z", "2026-11-23T09:00:00Z"],
  ["0 9 * * *", "Europe/Paris", "2026-07-01T00:00:00Z", "2026-07-01T07:00:00Z"],
  ["0 9 * * *", "Europe/Paris", "2026-12-01T00:00:00Z", "2026-12-01T08:00:00Z"],
  ["0 9 * * *", "Asia/Kolkata", "2026-12-01T00:00:00Z", "2026-12-01T03:30:00Z"],
  ["0 0 29 2 *", null, "2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z"],
  ["0 12 13 * FRI", null, "2026-11-21T00:00:00Z", "2026-11-27T12:00:00Z"],
  ["@daily", null, "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z"],
  // The hour that a clock jumps over: right after it.
  ["30 2 * * *", "Europe/Paris", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"],
  // The hour that a clock has twice: the first time of the day, and then the next day's.
  ["30 2 * * *", "Europe/Paris", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"],
  ["30 2 * * *", "Europe/Paris", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"],
  // Steps follow the clock: not in the hour that it jumps over, and in both hours that it has twice.
  ["*/15 1 * * *", "Europe/London", "2026-03-28T12:00:00Z", "2026-03-30T00:00:00Z"],
  ["*/15 1 * * *", "Europe/London", "2026-10-25T00:45:00Z", "2026-10-25T01:00:00Z"],
])(
  "the schedule %s in the time zone %s fires after %s at %s",
  (schedule, timezone, after, next) => {
    expect(nextFiring({ schedule, timezone, end_at: null }, at(after))).toBe(at(next));
  },
);

test("a cron fires at its end time and not after it", () => {
  const plan = { schedule: "0 * * * *", timezone: null };
  const after = at("2026-11-21T10:30:00Z");
  expect(nextFiring({ ...plan, end_at: at("2026-11-21T10:59:59Z") }, after)).toBeNull();
  const end_at = at("2026-11-21T11:00:00Z");
  expect(nextFiring({ ...plan, end_at }, after)).toBe(end_at);
});

test.each([
  ["* * * *", null, "schedule"],
  ["* * * * * *", null, "schedule"],
  ["61 * * * *", null, "schedule"],
  ["often", null, "schedule"],
  ["", null, "schedule"],
  ["2026-12-01T00:00:00", null, "schedule"],
  ["0 0 30 2 *", null, "schedule"],
  ["0 0 * * *", "Mars/Olympus", "timezone"],
])("the schedule %j in the time zone %j is refused for its %s", (schedule, timezone, field) => {
  expect(scheduleProblem({ schedule, timezone }, Date.now())).toMatchObject({ field });
});
