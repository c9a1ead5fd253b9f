import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

type Change = { branch: string; file: string; from: string; to: string };

const run = promisify(execFile);

/** Clones the repository, replaces a piece of one file and pushes that as a new branch. */
export async function pushBranch(url: string, { branch, file, from, to }: Change): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "heddle-demo-"));
  const git = async (...args: string[]) => {
    const author = ["-c", "user.name=Demo", "-c", "user.email=demo@heddle.invalid"];
    return (await run("git", ["-C", folder, ...author, ...args])).stdout.trim();
  };
  try {
    await git("clone", "--quiet", url, ".");
    const path = join(folder, file);
    await writeFile(path, (await readFile(path, "utf8")).replace(from, to));
    await git("commit", "--quiet", "--all", "--message", `Answer "${to}"`);
    await git("push", "--quiet", "origin", `HEAD:refs/heads/${branch}`);
    return await git("rev-parse", "HEAD");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
