import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ReleaseError } from "./releases.ts";

const START_MS = 300_000;
const STOP_MS = 30_000;
const POLL_MS = 200;
/** Signals to pass on: the trial is a process group, which the terminal does not signal. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Starts a release on a free port with an empty data folder, and ends it once it answers. Returns its URL. */
export async function tryStart(path: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "heddle-try-"));
  const child = spawn("npm", ["start"], {
    cwd: path,
    env: { ...withoutSettings(), PORT: "0", HEDDLE_DIR: dir },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const printed: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text) => printed.push(String(text)));
  }
  const exited = new Promise<void>((done) => child.once("close", () => done()));
  const interrupted = () => {
    end(child.pid, "SIGTERM");
    process.exit(1);
  };
  for (const signal of SIGNALS) process.once(signal, interrupted);
  try {
    const url = await answerOf(child, dir);
    if (url !== null) return url;
    throw new ReleaseError(`${path} does not start:\n${printed.join("").trim().slice(-2000)}`);
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupted);
    end(child.pid, "SIGTERM");
    const isOver = await Promise.race([
      exited.then(() => true),
      sleep(STOP_MS, false, { ref: false }),
    ]);
    // SIGKILL comes last: it would end the leash (local/processes/leash.ts) before the leash has ended its workerds.
    if (!isOver) end(child.pid, "SIGKILL");
    // Ended processes take a moment, and may write until then.
    await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

/** @returns the URL that answers, `null` when the process ends or takes too long */
async function answerOf(child: ChildProcess, dir: string): Promise<string | null> {
  const deadline = Date.now() + START_MS;
  for (;;) {
    const url = await answeringUrl(dir);
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    if (url !== null || hasEnded || Date.now() > deadline) return url;
    await sleep(POLL_MS);
  }
}

/** Returns the environment without settings of the service, such as its data folder. */
function withoutSettings(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith("HEDDLE_"));
  return Object.fromEntries(entries);
}

async function answeringUrl(dir: string): Promise<string | null> {
  const file = join(dir, "local.json");
  if (!existsSync(file)) return null;
  const { base_url } = JSON.parse(await readFile(file, "utf8")) as { base_url: string };
  const answer = await fetch(`${base_url}/ok`).catch(() => null);
  await answer?.body?.cancel();
  return answer?.ok ? base_url : null;
}

/** Signals the process group: npm, and all that it started. */
function end(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {}
}
