import type { Revision } from "../../../control-plane/deployments/revision-schema.ts";
import type { RunSeries } from "../../../traces/stats/series-schema.ts";

const NAME_CHARACTERS = 7;

export type RevisionMark = {
  id: string;
  deployment_id: string;
  /** Its commit, else its id, in short. */
  name: string;
  /** When it began to serve. */
  at: string;
};

/** Nothing updates a revision after its deployment: a rollback creates another one. */
export function toMarks(
  revisions: Revision[],
  { start_time, end_time }: Pick<RunSeries, "start_time" | "end_time">,
): RevisionMark[] {
  const isShown = ({ updated_at }: Revision) =>
    Date.parse(updated_at) >= Date.parse(start_time) &&
    Date.parse(updated_at) < Date.parse(end_time);
  return revisions
    .filter(({ status, is_preview }) => status === "DEPLOYED" && !is_preview)
    .filter(isShown)
    .map(({ id, deployment_id, repo_commit_sha, updated_at }) => {
      const name = (repo_commit_sha ?? id).slice(0, NAME_CHARACTERS);
      return { id, deployment_id, name, at: updated_at };
    })
    .sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}
