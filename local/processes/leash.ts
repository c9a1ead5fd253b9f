// Runs a command until stdin closes. When the process that started this one ends, even by SIGKILL, the system closes
// the pipe. The command then gets a SIGTERM, and its process group a SIGKILL when the command ends, or after 3 seconds.
import { spawn } from "node:child_process";
import { kill } from "./processes.ts";

const GRACE_MS = 3000;

const [command = "", ...args] = process.argv.slice(2);
const child = spawn(command, args, { detached: true, stdio: ["ignore", "inherit", "inherit"] });

// Ignores signals, so that only the pipe ends the command: Ctrl-C signals all processes, and the stack ends them in
// order.
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
