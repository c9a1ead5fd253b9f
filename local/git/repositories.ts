// Publishes each agent of examples/ as a repository of the git host. Changed files are a further commit on `main`.
import { execFile } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { runUnlessCurrent } from "../../scripts/memo.ts";

const run = promisify(execFile);

/** Fixed, so that the same files and the same parent give the same commit on every machine. */
const AUTHOR = {
  GIT_AUTHOR_NAME: "Heddle",
  GIT_AUTHOR_EMAIL: "examples@heddle.invalid",
  GIT_AUTHOR_DATE: "2026-01-01T00:00:00Z",
  GIT_COMMITTER_NAME: "Heddle",
  GIT_COMMITTER_EMAIL: "examples@heddle.invalid",
  GIT_COMMITTER_DATE: "2026-01-01T00:00:00Z",
};

/** `memo` is the file that records which contents are published. */
export async function publishExamples(examples: string, root: string, memo: string): Promise<void> {
  const entries = await readdir(examples);
  const names = entries.filter((name) => existsSync(join(examples, name, "langgraph.json")));
  const repositoryOf = (name: string) => join(root, "examples", `${name}.git`);
  const files = listFiles(names.map((name) => join(examples, name)));
  await Promise.all(names.map((name) => removeLocks(repositoryOf(name))));
  await runUnlessCurrent({
    file: memo,
    values: { root, files },
    outputs: names.map(repositoryOf),
    async run() {
      await Promise.all(
        names.map((name) => commitFolder(join(examples, name), repositoryOf(name))),
      );
      return { result: null, inputs: files };
    },
  });
}

/** Removes the locks that git leaves in a start that was killed. No other git writes now: the git host starts later. */
async function removeLocks(repository: string): Promise<void> {
  const locks = ["config.lock", "examples.index.lock", "refs/heads/main.lock"];
  await Promise.all(locks.map((lock) => rm(join(repository, lock), { force: true })));
}

/** Lists all files but installed packages, which are not published. */
function listFiles(folders: string[]): string[] {
  const exclude = (name: string) => name === "node_modules";
  return folders
    .flatMap((cwd) => globSync("**/*", { cwd, exclude }).map((path) => join(cwd, path)))
    .sort();
}

/**
 * Commits the folder's files to `main` of a bare repository, unless its newest commit has them. Returns that commit.
 */
export async function commitFolder(folder: string, repository: string): Promise<string> {
  if (!existsSync(repository))
    await run("git", ["init", "--quiet", "--bare", "-b", "main", repository]);
  const git = async (...args: string[]) => {
    const env = {
      ...process.env,
      ...AUTHOR,
      GIT_DIR: repository,
      GIT_WORK_TREE: folder,
      GIT_INDEX_FILE: join(repository, "examples.index"),
    };
    const { stdout } = await run("git", args, { cwd: folder, env });
    return stdout.trim();
  };
  await git("add", "--all");
  const tree = await git("write-tree");
  const head = await git("rev-parse", "--verify", "--quiet", "main").catch(() => null);
  if (head !== null && (await git("rev-parse", "main^{tree}")) === tree) return head;
  const parent = head === null ? [] : ["-p", head];
  const commit = await git("commit-tree", tree, ...parent, "-m", "Example agent");
  await git("update-ref", "refs/heads/main", commit);
  return commit;
}
