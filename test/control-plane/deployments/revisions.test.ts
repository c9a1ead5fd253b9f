import { expect, test } from "vitest";
import {
  isFinished,
  mayFollow,
  statusesBefore,
  stepsOf,
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

test("states are not skipped, and only another attempt returns to BUILDING", () => {
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

const T0 = "2026-11-20T12:00:00.000Z";
const at = (second: number) => `2026-11-20T12:00:0${second}.000Z`;
const built = {
  status: "DEPLOYED",
  status_reason: null,
  trigger: "api",
  steps: null,
  created_at: T0,
  updated_at: at(9),
} as const;
const fetched = { name: "fetch", started_at: at(1) } as const;
const installed = { name: "install", started_at: at(3) } as const;
const loaded = { name: "load", started_at: at(5) } as const;

test.each([
  ["a copy of deployed code", built, ""],
  ["a revision of before", { ...built, trigger: null, steps: [fetched] }, ""],
  [
    "a build that waits",
    { ...built, status: "AWAITING_BUILD" },
    "queue running, fetch pending, install pending, bundle pending, load pending, deploy pending",
  ],
  [
    "a build that failed",
    { ...built, status: "BUILD_FAILED", steps: [fetched, installed] },
    "queue success 1000, fetch success 2000, install error 6000, bundle skipped, load skipped, deploy skipped",
  ],
  [
    "a cancelled build",
    { ...built, status: "BUILD_FAILED", status_reason: "interrupted", steps: [fetched] },
    "queue success 1000, fetch cancelled 8000, install skipped, bundle skipped, load skipped, deploy skipped",
  ],
  [
    "an overtaken build",
    { ...built, status: "SKIPPED", status_reason: "overtaken" },
    "queue cancelled 9000, fetch skipped, install skipped, bundle skipped, load skipped, deploy skipped",
  ],
  [
    "a second attempt that loads the artifact of the first",
    { ...built, status: "BUILDING", steps: [fetched, loaded, { ...loaded, started_at: at(7) }] },
    "queue success 1000, fetch success 6000, install skipped, bundle skipped, load running, deploy pending",
  ],
] as const)("%s has its steps", (_, revision, expected) => {
  const texts = stepsOf(revision).map(({ name, status, duration_ms }) =>
    [name, status, duration_ms].filter((part) => part !== null).join(" "),
  );
  expect(texts.join(", ")).toBe(expected);
});
