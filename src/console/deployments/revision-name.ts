import type { Revision } from "../../control-plane/deployments/revision-schema.ts";

const COMMIT_CHARACTERS = 7;

type Named = Pick<Revision, "repo_commit_sha" | "number">;

/**
 * Returns the short commit and the number of the revision: one commit may have several revisions. An upload has no
 * commit.
 */
export function nameOf({ repo_commit_sha, number }: Named): string {
  const commit = repo_commit_sha?.slice(0, COMMIT_CHARACTERS);
  return commit === undefined ? `#${number}` : `${commit} #${number}`;
}
