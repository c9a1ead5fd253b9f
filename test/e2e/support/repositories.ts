import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { stack } from "./stack.ts";

/** Path in the repository -> content. */
export type Files = Record<string, string | Uint8Array>;

const run = promisify(execFile);

/** Pushes the files as one commit to a branch of a repository of the stack's git host; answers its URL. */
export async function pushRepository(name: string, files: Files, branch = "main"): Promise<string> {
  const path = `tests/${name}.git`;
  const folder = await mkdtemp(join(tmpdir(), "heddle-repository-"));
  try {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content);
    }
    const git = (...args: string[]) => run("git", ["-C", folder, ...args]);
    await git("init", "--quiet", "-b", "main");
    await git("add", "--all");
    const author = ["-c", "user.name=Test", "-c", "user.email=test@heddle.invalid"];
    await git(...author, "commit", "--quiet", "--message", "An agent");
    await git(
      "push",
      "--quiet",
      "--force",
      `${stack.git.push_url}/${path}`,
      `main:refs/heads/${branch}`,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return `${stack.git.url}/${path}`;
}
