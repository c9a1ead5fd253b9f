/** A commit, with its changed lines outside of moves and generated files. */
export type Commit = { id: string; subject: string; body: string; lines: number };

const MAX_SUBJECT = 72;
const MAX_LINES = 300;
/** A commit with more lines needs a body with the reason. */
const MAX_LINES_WITHOUT_BODY = 50;
const SUBJECT = /^(feat|fix|refactor|perf|test|docs|build|ci|style|chore)(\([a-z0-9-]+\))?: [^A-Z]/;
/** Files that a command writes. */
const GENERATED =
  /^(package-lock\.json|worker-configuration\.d\.ts|migrations\/meta\/|test\/fixtures\/artifacts\/|docs\/console\/)/;

/** Returns what a reader of the history would miss in a commit. */
export function commitProblems({ subject, body, lines }: Commit): string[] {
  const problems: string[] = [];
  if (!SUBJECT.test(subject)) problems.push("the subject is not like `fix(exports): ...`");
  if (subject.length > MAX_SUBJECT) problems.push(`the subject has over ${MAX_SUBJECT} characters`);
  if (lines > MAX_LINES) problems.push(`it changes ${lines} lines: at most ${MAX_LINES}`);
  if (lines > MAX_LINES_WITHOUT_BODY && body.trim() === "") {
    problems.push(`it changes ${lines} lines and has no body with the reason`);
  }
  return problems;
}

/** Counts the changed lines of `git show --numstat -M`, whose lines are `added\tremoved\tpath`. */
export function countLines(numstat: string): number {
  let lines = 0;
  for (const line of numstat.split("\n")) {
    const [added = "", removed = "", path = ""] = line.split("\t");
    // A binary file has no lines.
    if (!/^\d+$/.test(added) || GENERATED.test(path)) continue;
    lines += Number(added) + Number(removed);
  }
  return lines;
}
