import type { Revision } from "../../control-plane/deployments/revision-schema.ts";
import type { Deployment } from "../../control-plane/deployments/schema.ts";
import type { StatusKind } from "../ui/icons/status-kind.ts";
import { showStatus } from "./revision-status.ts";

export type RevisionRole = { kind: StatusKind; word: string; percent: number };

const REPLACED = "Replaced";

type Serving = Pick<Deployment, "active_revision_id" | "active_revision" | "traffic">;
type Built = Pick<Revision, "id" | "number" | "status" | "is_preview" | "updated_at">;

/** Returns how a revision is used in its deployment: it serves, is a canary or a preview, was replaced, or builds. */
export function roleOf(
  deployment: Serving & { updated_at: string },
  revision: Built,
): RevisionRole {
  const shown = showStatus(revision.status);
  if (revision.status !== "DEPLOYED") return { kind: shown.kind, word: shown.word, percent: 0 };
  const share = deployment.traffic.find(({ revision_id }) => revision_id === revision.id);
  if (share !== undefined && share.percent < 100) {
    const isActive = deployment.active_revision_id === revision.id;
    const { percent } = share;
    return { kind: isActive ? "ok" : "canary", word: `Serving ${percent}%`, percent };
  }
  if (deployment.active_revision_id === revision.id) {
    return { kind: "ok", word: "Serving", percent: 100 };
  }
  if (revision.is_preview) return { kind: "preview", word: "Preview", percent: 0 };
  // A deployment that was read before the revision was built does not show whether the revision serves.
  const isNewer = revision.number > (deployment.active_revision?.number ?? 0);
  const word = isNewer && revision.updated_at > deployment.updated_at ? shown.word : REPLACED;
  return { kind: "idle", word, percent: 0 };
}

/** Whether the traffic went from a revision back to an older one. */
export function isRolledBack(
  deployment: Serving & { updated_at: string },
  revision: Built,
): boolean {
  const isNewer = revision.number > (deployment.active_revision?.number ?? revision.number);
  return isNewer && roleOf(deployment, revision).word === REPLACED;
}

/** Whether a revision serves, and is the only listed one that was ever built. */
export function isFirstToServe<R extends Built>(
  { active_revision_id }: Pick<Serving, "active_revision_id">,
  revision: R,
  revisions: R[],
): boolean {
  const built = revisions.filter(({ status }) => status === "DEPLOYED");
  return active_revision_id === revision.id && built.every(({ id }) => id === revision.id);
}

/**
 * Returns the request that builds again: for a preview from the source of the preview, which the request then names,
 * else from the present source of the deployment.
 */
export function buildAgainOf({
  is_preview,
  source_revision_config: config,
}: Pick<Revision, "is_preview" | "source_revision_config">) {
  if (!is_preview) return { activate: true };
  const { repo_commit_sha: _commit, image_uri: _image, ...source } = config;
  const given = Object.entries(source).filter(([, value]) => value !== null);
  return { activate: false, source_revision_config: Object.fromEntries(given) };
}

export type MoveName = "Promote" | "Roll back";

/**
 * Names the move of all traffic to a revision. A move to an earlier revision that was built from the deployment's
 * source is a rollback.
 */
export function moveOf(
  { active_revision }: Pick<Serving, "active_revision">,
  revision: Built,
): MoveName {
  const isEarlier = revision.number < (active_revision?.number ?? 0);
  return isEarlier && !revision.is_preview ? "Roll back" : "Promote";
}

/**
 * Returns the revisions that can take the traffic of the one that serves: the newest built one after it, and the newest
 * built one before it. Leaves out previews.
 * @param revisions the newest first
 */
export function othersOf<R extends Built>(revisions: R[], { number }: Pick<Built, "number">): R[] {
  const built = revisions.filter(({ status, is_preview }) => status === "DEPLOYED" && !is_preview);
  const newer = built.filter((each) => each.number > number).slice(0, 1);
  const former = built.filter((each) => each.number < number).slice(0, 1);
  return [...newer, ...former];
}
