// Stops the process that writes the data folder with SIGSTOP, while the backup copies files. The copy is then what a
// crash at that moment would leave. If the backup is killed during the pause, the stack's watchdog kills the stopped
// process after ten seconds, and it starts again.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { kill } from "../../local/processes/processes.ts";
import { BackupError, MomentError } from "./problem.ts";

const MAX_STOP_WAIT_MS = 2000;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Runs synchronous work while the process is stopped. Returns its result and the duration of the pause in milliseconds.
 * @throws BackupError when the process does not stop, MomentError when another program continues it
 */
export async function whileStopped<T>(pid: number, work: () => T): Promise<[T, number]> {
  const started = performance.now();
  const continueAndExit = () => {
    kill(pid, "SIGCONT");
    process.exit(1);
  };
  for (const signal of SIGNALS) process.once(signal, continueAndExit);
  process.kill(pid, "SIGSTOP");
  try {
    // A thread in a system call finishes it before it stops.
    const deadline = performance.now() + MAX_STOP_WAIT_MS;
    while (!areThreadsStopped(pid)) {
      if (performance.now() > deadline) throw new BackupError(`Process ${pid} did not stop.`);
      await sleep(1);
    }
    const result = work();
    if (areThreadsStopped(pid)) return [result, performance.now() - started];
    throw new MomentError(`Process ${pid} was continued by another program.`);
  } finally {
    kill(pid, "SIGCONT");
    for (const signal of SIGNALS) process.off(signal, continueAndExit);
  }
}

function areThreadsStopped(pid: number): boolean {
  if (process.platform !== "linux") {
    return execFileSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).startsWith(
      "T",
    );
  }
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).every((task) => {
    const stat = readStat(`${tasks}/${task}/stat`);
    return stat === null || stat.slice(stat.lastIndexOf(")") + 2).search(/[TtZX]/) === 0;
  });
}

/** @returns `null` for a thread that has ended since it was listed */
function readStat(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw error;
  }
}
