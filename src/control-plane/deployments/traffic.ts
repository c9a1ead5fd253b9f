import { AppError, invalid } from "../../shared/errors.ts";
import type { RevisionStatus } from "./schema.ts";

/** Checks and decisions about the split of the traffic between revisions. Pure. */

export type Share = { revision_id: string; percent: number };
export type Traffic = readonly Share[];

type RevisionStatusRef = { id: string; status: RevisionStatus };

const LOC = ["body", "traffic"];

/** @param known the revisions of the deployment that the split names */
export function assertTraffic(traffic: Traffic, known: readonly RevisionStatusRef[]): void {
  const seen = new Set<string>();
  for (const [at, { revision_id }] of traffic.entries()) {
    const loc = [...LOC, at, "revision_id"];
    const revision = known.find(({ id }) => id === revision_id);
    if (seen.has(revision_id)) throw invalid(loc, `revision ${revision_id} occurs twice`);
    if (!revision) throw invalid(loc, `the deployment has no revision ${revision_id}`);
    if (revision.status !== "DEPLOYED") {
      const text = `revision ${revision_id} is ${revision.status}: only DEPLOYED revisions can take traffic`;
      throw invalid(loc, text);
    }
    seen.add(revision_id);
  }
  const sum = traffic.reduce((total, { percent }) => total + percent, 0);
  if (traffic.length > 0 && sum !== 100) {
    throw invalid(LOC, `the percents must sum to 100, not ${sum}`);
  }
}

/** @returns the only revision of the traffic, which becomes the active one, or `null` for a split or no traffic */
export function promotedBy(traffic: Traffic): string | null {
  const [first, second] = traffic;
  return first && !second ? first.revision_id : null;
}

/** Chooses by a hash of the thread, so that a thread stays with its revision while the split is unchanged. */
export function chooseShare<T extends { percent: number }>(
  split: readonly T[],
  key: string,
): T | undefined {
  const point = hash(key) % 100;
  let end = 0;
  return split.find(({ percent }) => {
    end += percent;
    return point < end;
  });
}

export function assertNotServing(
  deployment: { active_revision_id: string | null; traffic: Traffic | null },
  revision_id: string,
): void {
  const share = deployment.traffic?.find((one) => one.revision_id === revision_id);
  if (share) {
    const text = `Revision ${revision_id} takes ${share.percent} percent of the traffic: remove it from the deployment's traffic first.`;
    throw new AppError("conflict", text);
  }
  if (deployment.active_revision_id !== revision_id) return;
  const text = `Revision ${revision_id} is the active one: redeploy another revision, or move the traffic, first.`;
  throw new AppError("conflict", text);
}

/** Hashes by FNV-1a and the finalizer of MurmurHash3, so that ids that differ in one letter are spread evenly. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  }
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
