import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { StackInfo } from "../../local/stack.ts";
import { awaitDeployed, connect } from "../demo/control-plane.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");

/** Name of the deployment, and of the project of its traces. */
export const SOAK_NAME = "soak";

/** Pushes the agent of `agent/` to the stack's git host and deploys it. Returns the deployment's id. */
export function deploySoakAgent(info: StackInfo): Promise<string> {
  return deployFolder(info, SOAK_NAME, async (folder) => {
    await cp(join(import.meta.dirname, "agent"), folder, { recursive: true });
    // Uses the example's lockfile, because its versions are those of the prebuilt runtime.
    for (const file of ["package.json", "package-lock.json"]) {
      await cp(join(ROOT, "examples/chat", file), join(folder, file));
    }
    const config = JSON.stringify({ graphs: { soak: "./graph.ts:graph" } });
    await writeFile(join(folder, "langgraph.json"), config);
  });
}

/** Deploys what `fill` puts into a folder, in the workspace of the key. Returns the deployment's id. */
export async function deployFolder(
  info: StackInfo,
  name: string,
  fill: (folder: string) => Promise<void>,
): Promise<string> {
  const path = `soak/${name}.git`;
  await push(`${info.git.push_url}/${path}`, fill);
  const control = connect(info);
  const { id, latest_revision_id } = await control.create(name, `${info.git.url}/${path}`);
  await awaitDeployed(control, id, latest_revision_id);
  return id;
}

async function push(url: string, fill: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "heddle-soak-"));
  try {
    await fill(folder);
    const author = ["-c", "user.name=Soak", "-c", "user.email=soak@heddle.invalid"];
    const git = (...args: string[]) => run("git", ["-C", folder, ...author, ...args]);
    await git("init", "--quiet", "-b", "main");
    await git("add", "--all");
    await git("commit", "--quiet", "--message", "An agent");
    await git("push", "--quiet", "--force", url, "main");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
