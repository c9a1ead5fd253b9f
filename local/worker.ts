import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { stripVTControlCharacters } from "node:util";
import { compileCacheOf } from "./folder.ts";
import { type LogFile, openLog } from "./processes/log-file.ts";
import type { ServeOptions } from "./serve.ts";

type WorkerOptions = ServeOptions & {
  /** PEM file of the authorities that workerd trusts beside those of browsers. */
  ca_file: string | undefined;
  onError(line: string): void;
};

export type WorkerProcess = {
  /** Process id of the leash, below which all workerd processes run. 0 when it could not be started. */
  pid: number;
  exited: Promise<void>;
  /** Writes a line to the Worker's log. */
  log(line: string): void;
  stop(): Promise<void>;
};

const ROOT = join(import.meta.dirname, "..");
const LEASH = join(import.meta.dirname, "processes/leash.ts");
const SERVE = join(import.meta.dirname, "serve.ts");

export function logOf(path: string): string {
  return join(path, "worker.log");
}

/** Starts the process that serves the bundle until `stop`. Miniflare in it restarts a workerd that dies. */
export function startWorker({ ca_file, onError, ...serving }: WorkerOptions): WorkerProcess {
  const command = [process.execPath, SERVE];
  const child = spawn(process.execPath, [LEASH, ...command], {
    cwd: ROOT,
    env: {
      ...environment(),
      // Not arguments: some variables are secrets, and every user can read a command line.
      HEDDLE_SERVING: JSON.stringify(serving),
      NODE_EXTRA_CA_CERTS: ca_file,
      // Miniflare is 6 MB of JavaScript, which takes long to compile.
      NODE_COMPILE_CACHE: compileCacheOf(serving.path),
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const log = openLog(logOf(serving.path));
  record(child, log, onError);
  return {
    pid: child.pid ?? 0,
    exited,
    log: log.write,
    stop() {
      child.stdin?.end();
      return exited;
    },
  };
}

/**
 * Returns the environment without telemetry of the tools, and without settings of the shell that would become settings
 * of the Worker.
 */
function environment(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    ENCRYPTION_KEYS: undefined,
    CLOUDFLARE_ENV: undefined,
    FORCE_COLOR: undefined,
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_SEND_ERROR_REPORTS: "false",
    WRANGLER_WRITE_LOGS: "false",
    NO_COLOR: "1",
  };
}

function record(child: ChildProcess, log: LogFile, onError: (line: string) => void) {
  let inError = false;
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    createInterface({ input: stream }).on("line", (coloured) => {
      const line = stripVTControlCharacters(coloured);
      log.write(line);
      inError = isError(line) || (inError && /^\s+\S/.test(line));
      if (inError) onError(readable(line));
    });
  }
  child.once("close", () => log.close());
}

/** Shortens a JSON line of the Worker's log to its event and its error. */
function readable(line: string): string {
  const start = line.indexOf('{"level":');
  if (start < 0) return line;
  try {
    const { event, error } = JSON.parse(line.slice(start)) as { event: string; error?: string };
    return `${event}: ${error ?? line.slice(start)}`;
  } catch {
    return line;
  }
}

/** Whether a line is an error of the runtime or of the Worker's log. */
function isError(line: string): boolean {
  return line.includes("[ERROR]") || line.startsWith('{"level":"error"');
}
