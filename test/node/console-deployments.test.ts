import { expect, test } from "vitest";
import { activityOf, activityText } from "../../src/console/deployments/activity.ts";
import {
  buildAgainOf,
  isRolledBack,
  moveOf,
  othersOf,
  roleOf,
} from "../../src/console/deployments/revision-role.ts";
import type { Deployment } from "../../src/control-plane/deployments/schema.ts";
import type { RunSeries } from "../../src/traces/stats/series-schema.ts";

const START = Date.parse("2026-11-22T12:00:00Z");
const HALF_HOUR_MS = 30 * 60_000;
const at = (n: number) => new Date(START + n * HALF_HOUR_MS).toISOString();

function seriesOf(group: string | null, buckets: [n: number, runs: number, errors: number][]) {
  const sum = (of: 1 | 2) => buckets.reduce((total, bucket) => total + bucket[of], 0);
  return {
    group,
    is_rest: group === null,
    totals: { run_count: sum(1), error_count: sum(2), latency_p99: 1.5 },
    buckets: buckets.map(([n, run_count, error_count]) => {
      return { start_time: at(n), run_count, error_count };
    }),
  };
}

function answer(...series: ReturnType<typeof seriesOf>[]): RunSeries {
  return { start_time: at(0), end_time: at(48), stride_seconds: 1800, series } as RunSeries;
}

test("the runs of a deployment are 48 half hours, those with many failures marked", () => {
  const activity = activityOf(
    answer(
      seriesOf("a", [
        [0, 100, 0],
        [2, 200, 4],
        [47, 200, 5],
      ]),
    ),
    "a",
  );
  expect(activity).toMatchObject({ runs: 500, errors: 9, p99_ms: 1500, failed_at: at(47) });
  expect(activity?.cells.length).toBe(48);
  expect(activity?.cells.map(({ kind }) => kind).filter((kind) => kind !== "none")).toEqual([
    "ok",
    "ok",
    "failed",
  ]);
  expect([activity?.cells[0], activity?.cells[2]]).toMatchObject([
    { height: expect.closeTo(0.6) },
    { height: 1 },
  ]);
  expect(activity && activityText(activity)).toBe(
    "500 runs in the last 24 hours, 1.8% errors, 1 half hour above 2% errors",
  );
});

test("a deployment without runs is idle, one outside of the largest groups is unknown", () => {
  const idle = activityOf(answer(seriesOf("a", [[0, 1, 0]])), "b");
  expect(idle?.p99_ms).toBeNull();
  expect(idle && activityText(idle)).toBe("No runs in the last 24 hours");
  const busy = answer(seriesOf("a", [[0, 2, 0]]), seriesOf(null, [[0, 1, 0]]));
  expect(activityOf(busy, "b")).toBeNull();
});

test.each([
  [{ number: 2, id: "active" }, "Serving"],
  [{ number: 1, id: "older" }, "Replaced"],
  [{ number: 1, id: "built late", updated_at: at(2) }, "Replaced"],
  [{ number: 3, id: "rolled back" }, "Replaced"],
  [{ number: 3, id: "just built", updated_at: at(2) }, "Built"],
  [{ number: 3, id: "preview", is_preview: true }, "Preview"],
  [{ number: 3, id: "failed", status: "BUILD_FAILED" as const }, "Build failed"],
])("the revision %j of a deployment that serves its second one is %s", (revision, word) => {
  const active_revision = { number: 2 } as Deployment["active_revision"];
  const serving = { active_revision_id: "active", active_revision, traffic: [], updated_at: at(1) };
  const built = { status: "DEPLOYED" as const, is_preview: false, updated_at: at(0), ...revision };
  expect(roleOf(serving, built).word).toBe(word);
  expect(isRolledBack(serving, built)).toBe(built.id === "rolled back");
});

test("the traffic moves from the revision that serves to the newest one and to the one before", () => {
  const revision = (number: number, more = {}) => {
    const status = "DEPLOYED" as const;
    return { id: `${number}`, number, status, is_preview: false, updated_at: at(0), ...more };
  };
  const failed = revision(4, { status: "BUILD_FAILED" });
  const revisions = [revision(7, { is_preview: true }), revision(6), revision(5), failed];
  const all = [...revisions, revision(3), revision(2)];
  const namesFrom = (number: number) => {
    const active_revision = { number } as Deployment["active_revision"];
    const others = othersOf(all, { number });
    return others.map((other) => `${moveOf({ active_revision }, other)} ${other.number}`);
  };
  expect(namesFrom(6)).toEqual(["Roll back 5"]);
  expect(namesFrom(5)).toEqual(["Promote 6", "Roll back 3"]);
  expect(namesFrom(2)).toEqual(["Promote 6"]);
  expect(othersOf([revision(1)], { number: 1 })).toEqual([]);
});

test("a preview is built again from its own source, and another revision from its deployment's", () => {
  const source_revision_config = {
    repo_ref: "feature",
    agent_config_path: null,
    langgraph_config_path: "apps/agent/langgraph.json",
    image_uri: null,
    source_tarball_path: null,
    repo_commit_sha: "0123456789abcdef0123456789abcdef01234567",
  };
  expect(buildAgainOf({ is_preview: true, source_revision_config })).toEqual({
    activate: false,
    source_revision_config: {
      repo_ref: "feature",
      langgraph_config_path: "apps/agent/langgraph.json",
    },
  });
  expect(buildAgainOf({ is_preview: false, source_revision_config })).toEqual({ activate: true });
});
