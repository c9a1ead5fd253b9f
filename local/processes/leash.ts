// Runs a command for as long as this process's stdin stays open. However the stack ends, be it by
// SIGKILL, its end of the pipe closes and everything the command started goes with it.
import { spawn } from "node:child_process";
import { kill } from "./processes.ts";

const GRACE_MS = 3000;

const [command = "", ...args] = process.argv.slice(2);
const child = spawn(command, args, { detached: true, stdio: ["ignore", "inherit", "inherit"] });

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
process.stdin.on("close", end).resume();
child.on("exit", (code) => {
  killGroup();
  process.exit(code ?? 1);
});

function end() {
  if (child.pid !== undefined) kill(child.pid, "SIGTERM");
  setTimeout(killGroup, GRACE_MS).unref();
}

function killGroup() {
  if (child.pid !== undefined) kill(-child.pid, "SIGKILL");
}
