import type { Revision } from "../../control-plane/deployments/revision-schema.ts";

const COMMIT_CHARACTERS = 7;

type Named = Pick<Revision, "repo_commit_sha" | "number">;

/** The short commit with the number of the revision, as one commit may be built again. An upload has no commit. */
export function nameOf({ repo_commit_sha, number }: Named): string {
  const commit = repo_commit_sha?.slice(0, COMMIT_CHARACTERS);
  return commit === undefined ? `#${number}` : `${commit} #${number}`;
}
