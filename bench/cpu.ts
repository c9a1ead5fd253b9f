import { readdir, readFile } from "node:fs/promises";

/** A tick of /proc, on every Linux that Node runs on. */
const TICK_US = 10_000;

/** CPU time in microseconds of all workerd processes below this one; null where there is no /proc. */
export async function workerdCpu(): Promise<number | null> {
  const processes = await readdir("/proc")
    .then((names) => Promise.all(names.filter((name) => /^\d+$/.test(name)).map(readStat)))
    .catch(() => null);
  if (processes === null) return null;
  const parents = new Map(
    processes.flatMap((one) => (one ? [[one.pid, one.parent] as const] : [])),
  );
  const isOurs = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && (parent === process.pid || isOurs(parent));
  };
  return processes.reduce((sum, one) => {
    return one?.name === "workerd" && isOurs(one.pid) ? sum + one.ticks * TICK_US : sum;
  }, 0);
}

async function readStat(pid: string) {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  if (text === null) return null;
  const end = text.lastIndexOf(")");
  const fields = text.slice(end + 2).split(" ");
  return {
    pid: Number(pid),
    name: text.slice(text.indexOf("(") + 1, end),
    parent: Number(fields[1]),
    ticks: Number(fields[11]) + Number(fields[12]),
  };
}
