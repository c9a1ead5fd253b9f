import { expect, test } from "vitest";
import {
  isFinished,
  mayFollow,
  statusesBefore,
  UNFINISHED,
} from "../../../src/control-plane/deployments/revisions.ts";
import { RevisionStatus } from "../../../src/control-plane/deployments/schema.ts";

const IN_ORDER = [
  "CREATING",
  "QUEUED",
  "AWAITING_BUILD",
  "BUILDING",
  "AWAITING_DEPLOY",
  "DEPLOYING",
  "DEPLOYED",
] as const;

const FINISHED = [
  "DEPLOYED",
  "CREATE_FAILED",
  "BUILD_FAILED",
  "DEPLOY_FAILED",
  "SKIPPED",
  "INTERRUPTED",
  "UNKNOWN",
] as const;

test("a revision goes through its states in order", () => {
  for (const [at, status] of IN_ORDER.slice(1).entries()) {
    expect(mayFollow(IN_ORDER[at] ?? "UNKNOWN", status)).toBe(true);
  }
});

test("nothing follows a state that has ended", () => {
  for (const from of FINISHED) {
    expect(isFinished(from)).toBe(true);
    for (const to of RevisionStatus.options) expect(mayFollow(from, to)).toBe(false);
  }
  expect([...UNFINISHED, ...FINISHED].sort()).toEqual([...RevisionStatus.options].sort());
});

test("no state is jumped over, and none is gone back to but for another attempt", () => {
  const jumps = IN_ORDER.flatMap((from, at) =>
    IN_ORDER.filter((to, then) => then !== at + 1 && mayFollow(from, to)).map((to) => [from, to]),
  );
  expect(jumps).toEqual([
    ["BUILDING", "BUILDING"],
    ["AWAITING_DEPLOY", "BUILDING"],
    ["DEPLOYING", "BUILDING"],
  ]);
});

test.each([
  ["SKIPPED", ["CREATING", "QUEUED", "AWAITING_BUILD"]],
  ["BUILDING", ["AWAITING_BUILD", "BUILDING", "AWAITING_DEPLOY", "DEPLOYING"]],
  ["BUILD_FAILED", ["AWAITING_BUILD", "BUILDING", "AWAITING_DEPLOY", "DEPLOYING"]],
  ["DEPLOYED", ["DEPLOYING"]],
  ["INTERRUPTED", [...UNFINISHED]],
] as const)("%s follows only what may lead to it", (status, before) => {
  expect(statusesBefore(status)).toEqual(before);
});
