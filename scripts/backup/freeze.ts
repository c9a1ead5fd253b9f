// Stops the process that writes the data folder for a moment, with SIGSTOP. The files are then those that a SIGKILL
// at that moment would leave. When the backup itself is killed then, the stack's watchdog restarts the process.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { kill } from "../../local/processes/processes.ts";
import { BackupError } from "./problem.ts";

const STOP_MS = 2000;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Runs synchronous work while the process is stopped. Returns its result and the time of the stop. */
export async function whileStopped<T>(pid: number, work: () => T): Promise<[T, number]> {
  const started = performance.now();
  const giveUp = () => {
    kill(pid, "SIGCONT");
    process.exit(1);
  };
  for (const signal of SIGNALS) process.once(signal, giveUp);
  process.kill(pid, "SIGSTOP");
  try {
    // A thread in a system call finishes it before it stops.
    const deadline = performance.now() + STOP_MS;
    while (!isStopped(pid)) {
      if (performance.now() > deadline) throw new BackupError(`Process ${pid} did not stop.`);
      await sleep(1);
    }
    const result = work();
    if (isStopped(pid)) return [result, performance.now() - started];
    throw new BackupError(`Process ${pid} was continued by another program. Try again.`);
  } finally {
    kill(pid, "SIGCONT");
    for (const signal of SIGNALS) process.off(signal, giveUp);
  }
}

function isStopped(pid: number): boolean {
  if (process.platform !== "linux") {
    return execFileSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).startsWith(
      "T",
    );
  }
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).every((task) => {
    const stat = readFileSync(`${tasks}/${task}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).search(/[TtZX]/) === 0;
  });
}
