// `npm run history`: checks the commits of the branch that `main` does not have. Exit 1 when one breaks the rules of
// scripts/house/history.ts: its subject, its size, or a missing reason.
import { execFileSync } from "node:child_process";
import { type Commit, commitProblems, countLines } from "./house/history.ts";
import { readOptions } from "./options.ts";

const MAIN = "main";

readOptions({});
const problems = listCommits().flatMap((commit) =>
  commitProblems(commit).map((problem) => `${commit.id} ${commit.subject}: ${problem}`),
);
for (const problem of problems) console.log(problem);
process.exitCode = problems.length === 0 ? 0 : 1;

function listCommits(): Commit[] {
  if (git("branch", "--list", MAIN) === "") return [];
  const ids = git("rev-list", "--no-merges", `${MAIN}..HEAD`);
  return ids === "" ? [] : ids.split("\n").map(readCommit);
}

function readCommit(id: string): Commit {
  const [subject = "", ...body] = git("show", "--no-patch", "--format=%B", id).split("\n");
  const numstat = git("show", "--numstat", "--find-renames", "--format=", id);
  return { id: id.slice(0, 8), subject, body: body.join("\n"), lines: countLines(numstat) };
}

function git(...args: string[]): string {
  return execFileSync("git", args, { encoding: "utf8" }).trim();
}
