import type { RevisionStatus } from "./schema.ts";

/** A next attempt of a build begins at BUILDING again, from wherever the last one died. */
const NEXT = {
  CREATING: ["QUEUED", "CREATE_FAILED", "SKIPPED", "INTERRUPTED"],
  QUEUED: ["AWAITING_BUILD", "CREATE_FAILED", "SKIPPED", "INTERRUPTED"],
  AWAITING_BUILD: ["BUILDING", "BUILD_FAILED", "SKIPPED", "INTERRUPTED"],
  BUILDING: ["BUILDING", "AWAITING_DEPLOY", "BUILD_FAILED", "INTERRUPTED"],
  AWAITING_DEPLOY: ["DEPLOYING", "BUILDING", "BUILD_FAILED", "DEPLOY_FAILED", "INTERRUPTED"],
  DEPLOYING: ["DEPLOYED", "BUILDING", "BUILD_FAILED", "DEPLOY_FAILED", "INTERRUPTED"],
  DEPLOYED: [],
  CREATE_FAILED: [],
  BUILD_FAILED: [],
  DEPLOY_FAILED: [],
  SKIPPED: [],
  INTERRUPTED: [],
  UNKNOWN: [],
} as const satisfies Record<RevisionStatus, readonly RevisionStatus[]>;

// The keys of an object that `satisfies` a full Record are exactly its statuses.
const STATUSES = Object.keys(NEXT) as RevisionStatus[];

/** The status of a new row: it waits for a builder. */
export const FIRST_STATUS = "AWAITING_BUILD" satisfies RevisionStatus;

/** Reason of a build that was ended on request. */
export const INTERRUPTED = "interrupted";

/** Code that was deployed once has shown that it loads: a copy of it serves from its first moment. */
export function statusOfCopy(source: RevisionStatus): RevisionStatus {
  return source === "DEPLOYED" ? "DEPLOYED" : FIRST_STATUS;
}

/** States that end by themselves; the sweep looks after a revision as long as it is in one of them. */
export const UNFINISHED = STATUSES.filter((status) => NEXT[status].length > 0);

/** States in which an attempt holds a lease. */
export const BUILD_STATUSES: readonly RevisionStatus[] = [
  "BUILDING",
  "AWAITING_DEPLOY",
  "DEPLOYING",
];

export function mayFollow(from: RevisionStatus, to: RevisionStatus): boolean {
  return (NEXT[from] as readonly RevisionStatus[]).includes(to);
}

/** Statuses for the WHERE of the UPDATE that moves a revision to `to`. */
export function statusesBefore(to: RevisionStatus): RevisionStatus[] {
  return STATUSES.filter((from) => mayFollow(from, to));
}

export function isFinished(status: RevisionStatus): boolean {
  return NEXT[status].length === 0;
}
