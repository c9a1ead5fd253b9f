// Restarts a service like `systemctl restart`: the one argument is a file with a Unit.
import { spawn } from "node:child_process";
import { existsSync, openSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { identify, kill } from "../../../local/processes/processes.ts";

export type Unit = {
  folder: string;
  command: string[];
  env: Record<string, string>;
  /** Identifies the running process. */
  pid_file: string;
  log: string;
};

const unit = JSON.parse(await readFile(process.argv[2] ?? "", "utf8")) as Unit;
const running = existsSync(unit.pid_file) ? await readFile(unit.pid_file, "utf8") : "";
const pid = Number.parseInt(running, 10);
if (running !== "") kill(pid, "SIGTERM");
while (running !== "" && running === (await identify(pid))) await sleep(20);

const log = openSync(unit.log, "a");
const [file = "", ...args] = unit.command;
const child = spawn(file, args, {
  cwd: unit.folder,
  env: { ...process.env, ...unit.env },
  stdio: ["ignore", log, log],
  detached: true,
});
await writeFile(unit.pid_file, (await identify(child.pid ?? 0)) ?? "");
child.unref();
