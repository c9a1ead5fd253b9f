import { expect, test } from "vitest";
import { conditionOf } from "../../src/console/alerts/alert-texts.ts";

test.each([
  [{ metric: "error_rate", threshold: 0.125 }, "Error rate ≥ 12.5% in 5 min"],
  [{ metric: "latency_p95", threshold: 1.25 }, "Latency, p95 ≥ 1.25 s in 5 min"],
])("an alert shows its threshold as it is: %j", (part, text) => {
  expect(conditionOf({ operator: "gte", window_minutes: 5, ...part } as never)).toBe(text);
});
