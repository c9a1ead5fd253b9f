import type { Revision } from "../../../control-plane/deployments/revision-schema.ts";
import type { RunSeries } from "../../../traces/stats/series-schema.ts";
import { nameOf } from "../../deployments/revision-name.ts";

export type RevisionMark = {
  id: string;
  deployment_id: string;
  name: string;
  /** Time at which it began to serve. */
  at: string;
};

/**
 * Returns the revisions that began to serve between the two times, the oldest first. `updated_at` of a built revision
 * is the end of its build. Except for previews, a revision begins to serve then. A later promotion or rollback does not
 * change it, and has no mark.
 */
export function toRevisionMarks(
  revisions: Revision[],
  { start_time, end_time }: Pick<RunSeries, "start_time" | "end_time">,
): RevisionMark[] {
  const isShown = ({ updated_at }: Revision) =>
    Date.parse(updated_at) >= Date.parse(start_time) &&
    Date.parse(updated_at) < Date.parse(end_time);
  return revisions
    .filter(({ status, is_preview }) => status === "DEPLOYED" && !is_preview)
    .filter(isShown)
    .map((revision) => {
      const { id, deployment_id, updated_at } = revision;
      return { id, deployment_id, name: nameOf(revision), at: updated_at };
    })
    .sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}
