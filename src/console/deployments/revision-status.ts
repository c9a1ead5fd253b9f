import type { RevisionStatus } from "../../control-plane/deployments/schema.ts";
import type { StatusKind } from "../ui/icons/status-kind.ts";

type Shown = { kind: StatusKind; word: string; isBuilding: boolean };

const building = (word: string): Shown => ({ kind: "running", word, isBuilding: true });
const ended = (kind: StatusKind, word: string): Shown => ({ kind, word, isBuilding: false });

const SHOWN: Record<RevisionStatus, Shown> = {
  CREATING: { ...building("Queued"), kind: "queued" },
  QUEUED: { ...building("Queued"), kind: "queued" },
  AWAITING_BUILD: { ...building("Queued"), kind: "queued" },
  BUILDING: building("Building"),
  AWAITING_DEPLOY: building("Load check"),
  DEPLOYING: building("Load check"),
  DEPLOYED: ended("ok", "Built"),
  CREATE_FAILED: ended("failed", "Not created"),
  BUILD_FAILED: ended("failed", "Build failed"),
  DEPLOY_FAILED: ended("failed", "Load failed"),
  SKIPPED: ended("skipped", "Skipped"),
  INTERRUPTED: ended("cancelled", "Cancelled"),
  UNKNOWN: ended("idle", "Unknown"),
};

export function showStatus(status: RevisionStatus): Shown {
  return SHOWN[status];
}
