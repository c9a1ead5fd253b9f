import { listFamily } from "../local/processes/processes.ts";

/** Returns the CPU time in microseconds of all workerd processes below this one. @returns `null` outside of Linux */
export async function workerdCpu(): Promise<number | null> {
  if (process.platform !== "linux") return null;
  const family = await listFamily(process.pid);
  const workerds = family.filter(({ command }) => /\bworkerd\b/.test(command.split(" ")[0] ?? ""));
  return workerds.reduce((sum, { cpu_ms }) => sum + cpu_ms * 1000, 0);
}
