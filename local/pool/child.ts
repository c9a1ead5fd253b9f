// A workerd process with limits. Its sockets are in the working directory, because the path of a socket has at
// most 107 bytes.
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { request } from "node:http";
import { createRequire } from "node:module";
import { log } from "../../src/shared/log.ts";
import { kill } from "../processes/processes.ts";

export type ChildOptions = {
  /** A Cap'n Proto file with a socket named `ping`. */
  config: string;
  limits: Limits;
};

export type Limits = {
  /** The kind of the process, for the text about its end. */
  label: "agent" | "build";
  /** Heap of each isolate. V8 ends the process of an isolate that exceeds it. `null`: V8's own limit. */
  heap_mb: number | null;
  /** Resident memory, which the guard reads ten times a second on Linux, elsewhere once. */
  rss_bytes: number;
  /** Data segments, of which V8 reserves 512 MB. Linux enforces this limit, however fast a process grows. */
  data_bytes: number;
  /** Processor time without an answer to a ping. */
  computes_ms: number;
};

/** Lower priority than the main process, which goes first where both need a processor. */
const NICE = "5";
const SHELL = 'ulimit -c 0; ulimit -d "$1" || exit; shift; exec nice -n "$@"';
const STDERR_CHARACTERS = 4000;
const START_MS = 60_000;
const MEGABYTE = 1024 * 1024;

const requireOfMiniflare = createRequire(import.meta.resolve("miniflare"));
export const workerdPath = (requireOfMiniflare("workerd") as { default: string }).default;

/** Variables that workerd needs to find programs and certificates, and no others. */
function environment(): NodeJS.ProcessEnv {
  const { PATH, SSL_CERT_FILE, SSL_CERT_DIR } = process.env;
  return { PATH, SSL_CERT_FILE, SSL_CERT_DIR, TZ: "UTC" };
}

export class Child {
  readonly #name = randomBytes(8).toString("hex");
  readonly #limits: Limits;
  readonly #process: ChildProcess;
  readonly exited: Promise<void>;
  /** Measured by the guard. */
  rss_bytes = 0;
  /** Whether it used over half of its memory limit at the guard's last look. The pool then replaces it at a claim. */
  isFull = false;
  #stderr = "";
  #isAlive = true;
  #why: string | null = null;

  constructor({ config, limits }: ChildOptions) {
    this.#limits = limits;
    const sockets = [`--debug-port=${this.address}`, `--socket-addr=ping=unix:${this.#name}.ping`];
    const isLinux = process.platform === "linux";
    const kilobytes = isLinux ? String(Math.round(limits.data_bytes / 1024)) : "unlimited";
    const command = [kilobytes, NICE, workerdPath, "serve", "--experimental", ...sockets, config];
    // Agents print to their own logs. V8 prints the cause of a fatal error to stderr.
    const stdio = ["ignore", "ignore", "pipe"] as const;
    this.#process = spawn("/bin/sh", ["-c", SHELL, "sh", ...command], {
      stdio: [...stdio],
      env: environment(),
    });
    this.#process.stderr?.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk).slice(-STDERR_CHARACTERS);
    });
    this.exited = new Promise((resolve) => {
      const end = (how: string) => {
        this.#isAlive = false;
        this.#why ??= this.#crashOf(how);
        void Promise.all([this.close(), this.#remove("ping")]).then(() => resolve());
      };
      this.#process.once("exit", (code, signal) => end(signal ?? `exit code ${code}`));
      // The system could not start another process.
      this.#process.once("error", ({ message }) => end(message));
    });
  }

  /** The address of the debug port. */
  get address(): string {
    return `unix:${this.socket}`;
  }

  get socket(): string {
    return `${this.#name}.sock`;
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Why the process has ended, or is being killed. `null` before. */
  get why(): string | null {
    return this.#why;
  }

  /** Resolves when the process answers. @throws Error when it ends before, or after `START_MS` */
  async start(): Promise<this> {
    const deadline = Date.now() + START_MS;
    while (!(await this.ping(1000))) {
      if (!this.#isAlive) throw new Error(`A workerd process did not start: ${this.#stderr}`);
      if (Date.now() > deadline) this.kill("The process did not start in time.");
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return this;
  }

  /** Whether the process answers in time, with any status. */
  ping(timeout_ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const options = { socketPath: `${this.#name}.ping`, timeout: timeout_ms };
      const pinging = request(options, (response) => {
        response.resume();
        resolve(true);
      });
      pinging.once("timeout", () => pinging.destroy());
      pinging.once("error", () => resolve(false));
      pinging.end();
    });
  }

  kill(why: string): void {
    this.#why ??= why;
    if (this.#isAlive) kill(this.pid, "SIGKILL");
  }

  /** Removes the socket, so that new calls fail. Calls in flight continue. */
  close(): Promise<void> {
    return this.#remove("sock");
  }

  #remove(suffix: string): Promise<void> {
    return rm(`${this.#name}.${suffix}`, { force: true });
  }

  /** Returns why the process ended by itself, and logs the end of its stderr, such as V8's sizes of the heap. */
  #crashOf(how: string): string {
    const { label, heap_mb, rss_bytes } = this.#limits;
    log.warn("process_ended", { process: label, how, last_words: this.#stderr });
    const megabytes = Math.round(rss_bytes / MEGABYTE);
    const heap = heap_mb === null ? "" : `, and an isolate ${heap_mb} MB of heap`;
    if (/out of memory/i.test(this.#stderr)) {
      return `The ${label}'s process ran out of memory: it may use ${megabytes} MB${heap}.`;
    }
    return `The ${label}'s process ended with ${how}.`;
  }
}
