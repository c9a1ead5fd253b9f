import { REVISION_STEPS, type RevisionStep } from "./revision-schema.ts";
import type { RevisionStatus } from "./schema.ts";

/**
 * Statuses that may follow each status. The next attempt of a build starts at BUILDING, wherever the last one ended.
 */
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

/** Status of a new revision, which waits for a builder. */
export const FIRST_STATUS = "AWAITING_BUILD" satisfies RevisionStatus;

/** Reason of a build that was ended on request. */
export const INTERRUPTED = "interrupted";

/** Returns the status of a copy. Deployed code has passed its load check, so a copy of it is deployed at once. */
export function statusOfCopy(source: RevisionStatus): RevisionStatus {
  return source === "DEPLOYED" ? "DEPLOYED" : FIRST_STATUS;
}

/** Statuses of builds that have not ended. The sweep sends the messages of such revisions again. */
export const UNFINISHED = STATUSES.filter((status) => NEXT[status].length > 0);

/** Statuses of a claimed build. An attempt that failed may have cleared the lease: another attempt may claim it. */
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

export type StartedStep = { name: RevisionStep["name"]; started_at: string };

type BuildTimes = {
  status: RevisionStatus;
  status_reason: string | null;
  trigger: string | null;
  steps: readonly StartedStep[] | null;
  created_at: string;
  updated_at: string;
};

/** Returns the steps of a build. The last step ends at `updated_at`, which does not change after the build. */
export function stepsOf(revision: BuildTimes): RevisionStep[] {
  const { status, steps, trigger, created_at, updated_at } = revision;
  const isCopy = steps === null && status === "DEPLOYED";
  if (isCopy || trigger === null) return [];
  const started = latestSteps([{ name: "queue", started_at: created_at }, ...(steps ?? [])]);
  const isOver = isFinished(status);
  const last = REVISION_STEPS.indexOf(started.at(-1)?.name ?? "queue");
  return REVISION_STEPS.map((name, position) => {
    const index = started.findIndex((step) => step.name === name);
    const step = started[index];
    if (step === undefined) return notStarted(name, position > last && !isOver);
    const next = started[index + 1];
    if (next) return toStep(step, "success", next.started_at);
    return toStep(step, statusOfLast(revision), isOver ? updated_at : null);
  });
}

function notStarted(name: RevisionStep["name"], isPending: boolean): RevisionStep {
  const status = isPending ? "pending" : "skipped";
  return { name, status, started_at: null, ended_at: null, duration_ms: null };
}

function toStep(
  { name, started_at }: StartedStep,
  status: RevisionStep["status"],
  ended_at: string | null,
): RevisionStep {
  const ms = ended_at === null ? null : Date.parse(ended_at) - Date.parse(started_at);
  return { name, status, started_at, ended_at, duration_ms: ms === null ? null : Math.max(ms, 0) };
}

function statusOfLast({ status, status_reason }: BuildTimes): RevisionStep["status"] {
  if (!isFinished(status)) return "running";
  if (status === "DEPLOYED") return "success";
  if (status === "SKIPPED" || status === "INTERRUPTED") return "cancelled";
  return status_reason === INTERRUPTED ? "cancelled" : "error";
}

/** Drops a step that a later attempt began again, and all steps after it. */
function latestSteps(steps: readonly StartedStep[]): StartedStep[] {
  return steps.reduce<StartedStep[]>((kept, step) => {
    const again = kept.findIndex(({ name }) => name === step.name);
    return [...(again < 0 ? kept : kept.slice(0, again)), step];
  }, []);
}
