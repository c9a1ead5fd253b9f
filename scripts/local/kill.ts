// The Worker's process, found from the stack's folder: tests live in other processes than the stack.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findWorker, isAlive, kill } from "./processes.ts";

type Place = { pid: number; port: number };

export function rememberWrangler(path: string, place: Place): Promise<void> {
  return writeFile(join(path, "wrangler.pid"), JSON.stringify(place));
}

/** SIGKILL to the process that runs the Worker, as a crash would. Once it is gone wrangler starts it again. */
export async function killWorkerOf(path: string): Promise<void> {
  const text = await readFile(join(path, "wrangler.pid"), "utf8");
  const { pid, port } = JSON.parse(text) as Place;
  const worker = await findWorker(pid, port);
  if (!worker) throw new Error(`No workerd process runs the Worker of ${path}`);
  kill(worker.pid, "SIGKILL");
  while (isAlive(worker.pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}
