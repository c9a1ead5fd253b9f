import { execFile } from "node:child_process";
import { readlink } from "node:fs/promises";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { claim, holderOf } from "../../local/folder.ts";
import { ping } from "../../local/processes/watchdog.ts";
import { findRelease, ReleaseError, readLink, setLink } from "./releases.ts";

export type SwitchOptions = {
  root: string;
  /** The data folder of the service. */
  dir: string;
  port: number;
  /** The command that restarts the service; `null`: only set the link. */
  restart: string[] | null;
  wait_ms: number;
  print(line: string): void;
};

const POLL_MS = 500;
/** Answers in a row: a service that ends soon after its start is not healthy. */
const ANSWERS = 3;
const run = promisify(execFile);

/** Switches to a release; without a commit to the one that was installed last. */
export async function switchTo(options: SwitchOptions, commit?: string): Promise<void> {
  const { path } = await findRelease(options.root, commit);
  await change(options, path);
}

/** Switches to the release that was current before the last switch. */
export async function rollback(options: SwitchOptions): Promise<void> {
  const previous = await readLink(options.root, "previous");
  if (previous === null) throw new ReleaseError("No release was current before: see list.");
  await change(options, previous);
}

async function change(options: SwitchOptions, path: string): Promise<void> {
  const { root, print } = options;
  const release = await claim(root, "release");
  try {
    const before = await readLink(root, "current");
    await setLink(root, "current", path);
    const problem = await startCurrent(options, path);
    if (problem === null) {
      if (before !== null && before !== path) await setLink(root, "previous", before);
      return print(`${basename(path)} is the current release.`);
    }
    if (before === null || before === path) throw new ReleaseError(problem.text);
    print(`  ${problem.text} Returning to ${basename(before)}.`);
    await setLink(root, "current", before);
    const second = await startCurrent(options, before);
    throw new ReleaseError(`${outcomeOf(path, before, second)} See: journalctl -u heddle`);
  } finally {
    await release();
  }
}

function outcomeOf(path: string, before: string, second: StartProblem | null): string {
  if (second === null) return `${basename(path)} does not run, so ${basename(before)} runs again.`;
  if (second.isRestarted) return `Neither release runs. ${second.text}`;
  return `${basename(before)} is the current release again; whether it runs is not known. ${second.text}`;
}

type StartProblem = { text: string; isRestarted: boolean };

/** Restarts the service. @returns `null` when the release runs and answers, or the problem */
async function startCurrent(options: SwitchOptions, path: string): Promise<StartProblem | null> {
  const { restart, wait_ms } = options;
  if (restart === null) return null;
  const [command = "", ...args] = restart;
  const failed = await run(command, args).then(
    () => null,
    (error: Error & { stderr?: string }) => error.stderr?.trim() || error.message,
  );
  if (failed !== null) {
    return { text: `"${restart.join(" ")}" failed: ${failed}.`, isRestarted: false };
  }
  const deadline = Date.now() + wait_ms;
  for (let answers = 0; answers < ANSWERS; ) {
    if (Date.now() > deadline) {
      const text = `${basename(path)} did not answer in ${wait_ms / 1000} s.`;
      return { text, isRestarted: true };
    }
    answers = (await isServing(options, path)) ? answers + 1 : 0;
    await sleep(POLL_MS);
  }
  return null;
}

/** Whether the process that holds the data folder runs in the release, and answers. */
async function isServing({ dir, port }: SwitchOptions, path: string): Promise<boolean> {
  const pid = await holderOf(dir);
  if (pid === null) return false;
  // Only Linux has /proc.
  const folder = await readlink(`/proc/${pid}/cwd`).catch(() => path);
  return folder === path && (await ping(port));
}
