import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";

export type Process = {
  pid: number;
  parent_pid: number;
  rss_bytes: number;
  /** Processor time so far. */
  cpu_ms: number;
  command: string;
};

const run = promisify(execFile);
/** Type of the entry of the auxiliary vector that has the size of a page. */
const AT_PAGESZ = 6n;
/** Unit of memory in /proc: a page, which some kernels for ARM have with 16 or 64 KiB. */
const PAGE_BYTES = pageBytesOf(readAuxiliaryVector());
/** Unit of processor time in /proc: 1/100 s on every Linux. */
const TICK_MS = 10;

/**
 * Returns the workerd that runs the main script: the one with the entry of Miniflare (pool/workerd.sh). `last` is the
 * result of the call before. It is checked first, because reading all processes of a machine costs much more.
 */
export async function findWorker(
  ancestor_pid: number,
  last?: Process,
): Promise<Process | undefined> {
  const [read] = last ? await readProcesses([last.pid]) : [];
  if (read && read.command === last?.command) return read;
  const workerds = await listWorkerds(ancestor_pid);
  return workerds.find(({ command }) => command.includes("--socket-addr=entry=unix:"));
}

/** Returns the workerds that run builds of this stack. */
export async function listBuilders(ancestor_pid: number): Promise<Process[]> {
  const workerds = await listWorkerds(ancestor_pid);
  return workerds.filter(({ command }) => command.includes("/builder/process.capnp"));
}

/** Returns the workerds that run agents of this stack. */
export async function listAgents(ancestor_pid: number): Promise<Process[]> {
  const workerds = await listWorkerds(ancestor_pid);
  return workerds.filter(({ command }) => command.includes("/local/process.capnp"));
}

async function listWorkerds(ancestor_pid: number): Promise<Process[]> {
  const family = await listFamily(ancestor_pid);
  return family.filter(({ command }) => command.includes("workerd serve"));
}

/** Returns the process and its descendants, as far as they are alive. */
export async function listFamily(ancestor_pid: number): Promise<Process[]> {
  const all = await listProcesses();
  const family = new Set([ancestor_pid]);
  for (let size = 0; size < family.size; ) {
    size = family.size;
    for (const { pid, parent_pid } of all) if (family.has(parent_pid)) family.add(pid);
  }
  return all.filter(({ pid }) => family.has(pid));
}

export type Usage = Pick<Process, "rss_bytes" | "cpu_ms">;

/** Returns what a process uses; `null` when it has ended. */
export async function readUsage(pid: number): Promise<Usage | null> {
  if (process.platform === "linux") return readStat(pid);
  return (await listByPs()).find((each) => each.pid === pid) ?? null;
}

/** Returns how often a process has called the system to read or write; `null` where that cannot be read. */
export async function readIoCalls(pid: number): Promise<number | null> {
  const text = await readFile(`/proc/${pid}/io`, "utf8").catch(() => null);
  if (text === null) return null;
  const counts = [...text.matchAll(/^sysc[rw]: (\d+)$/gm)].map(([, count]) => Number(count));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Whether a signal has stopped the process; `false` where that cannot be read. */
export async function isStopped(pid: number): Promise<boolean> {
  if (process.platform !== "linux") return false;
  return (await readFields(pid))?.[0] === "T";
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/**
 * Returns a text with the id and the start time of a process. No later process with the same id has the same text.
 * @returns `null` when it has ended
 */
export async function identify(pid: number): Promise<string | null> {
  try {
    if (process.platform !== "linux") {
      const { stdout } = await run("ps", ["-o", "lstart=", "-p", String(pid)]);
      return `${pid} ${stdout.trim()}`;
    }
    const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
    const fields = await readFields(pid);
    return fields && `${pid} ${fields[19]} ${boot.trim()}`;
  } catch {
    return null;
  }
}

/** Sends a signal. Ignores errors, such as that of a process that has already ended. */
export function kill(pid: number, signal: NodeJS.Signals): void {
  // 0 is the own process group, and the id of a process that could not be started.
  if (pid === 0) return;
  try {
    process.kill(pid, signal);
  } catch {}
}

async function listProcesses(): Promise<Process[]> {
  if (process.platform !== "linux") return listByPs();
  return readProcesses((await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number));
}

/** Reads processes from /proc, which only Linux has. */
export async function readProcesses(pids: number[]): Promise<Process[]> {
  const found = await Promise.all(pids.map(readProc));
  return found.filter((each) => each !== null);
}

async function readProc(pid: number): Promise<Process | null> {
  const [stat, command] = await Promise.all([
    readStat(pid),
    readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => null),
  ]);
  if (stat === null || command === null) return null;
  return { ...stat, command: command.replaceAll("\0", " ") };
}

async function readStat(pid: number): Promise<Omit<Process, "command"> | null> {
  const fields = await readFields(pid);
  return (
    fields && {
      pid,
      parent_pid: Number(fields[1]),
      rss_bytes: Number(fields[21]) * PAGE_BYTES,
      cpu_ms: (Number(fields[11]) + Number(fields[12])) * TICK_MS,
    }
  );
}

/**
 * Returns the fields of /proc/{pid}/stat after the command, `null` when the process has ended. A slim Linux has no
 * `ps`. An ended process stays in /proc as a zombie until its parent takes notice, which the first process of a
 * container may never do.
 */
async function readFields(pid: number): Promise<string[] | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  // The command can contain spaces and parentheses.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ") ?? null;
  return fields?.[0] === "Z" ? null : fields;
}

async function listByPs(): Promise<Process[]> {
  const { stdout } = await run("ps", ["-axo", "pid=,ppid=,rss=,time=,args="], {
    maxBuffer: 1 << 24,
  });
  return stdout.split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line);
    if (!match) return [];
    const [, pid, parent_pid, rss, time = "", command = ""] = match;
    return [
      {
        pid: Number(pid),
        parent_pid: Number(parent_pid),
        rss_bytes: Number(rss) * 1024,
        cpu_ms: toMs(time),
        command,
      },
    ];
  });
}

/** Parses the time of `ps`: "1:02.34", or with hours and days before it. */
function toMs(time: string): number {
  const seconds = [1, 60, 3600, 86_400];
  const parts = time.split(/[-:]/).map(Number).reverse();
  return 1000 * parts.reduce((sum, part, n) => sum + part * (seconds[n] ?? 0), 0);
}

/** Returns the size of a page, 4 KiB where the vector does not have it. An entry has two numbers of 64 bits. */
export function pageBytesOf(vector: Buffer): number {
  for (let at = 0; at + 16 <= vector.length; at += 16)
    if (vector.readBigUInt64LE(at) === AT_PAGESZ) return Number(vector.readBigUInt64LE(at + 8));
  return 4096;
}

function readAuxiliaryVector(): Buffer {
  try {
    return readFileSync("/proc/self/auxv");
  } catch {
    return Buffer.alloc(0);
  }
}
