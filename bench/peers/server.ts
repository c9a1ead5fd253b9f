import { type ChildProcess, spawn } from "node:child_process";
import { isAlive, kill, listFamily } from "../../local/processes/processes.ts";

const PATIENCE_MS = 120_000;
const GONE_MS = 10_000;
const LOOK_MS = 10;

/** All processes of a peer. */
export class Server {
  private roots: ChildProcess[] = [];
  /** Processor time of killed processes. */
  private past_cpu_ms = 0;

  /** Starts a process, and waits until `isReady` answers without an error. */
  async spawn(
    command: readonly string[],
    options: { cwd: string; env?: Record<string, string> },
    isReady: () => Promise<unknown>,
  ): Promise<void> {
    const [program = "", ...args] = command;
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.roots.push(child);
    let problem = "";
    child.stderr?.on("data", (text) => {
      problem = `${problem}${text}`.slice(-2000);
    });
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const error = await isReady().then(
        () => null,
        (cause: unknown) => ({ cause }),
      );
      if (error === null) return;
      if (child.exitCode !== null || performance.now() > deadline)
        throw new Error(`${program} ${args.join(" ")} does not answer: ${problem}`, error);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  async cpuMs(): Promise<number> {
    const family = await this.family();
    return family.reduce((sum, { cpu_ms }) => sum + cpu_ms, this.past_cpu_ms);
  }

  /** Stops all processes: a peer that polls would take the processor from the one that is measured. */
  async pause(): Promise<void> {
    for (const { pid } of await this.family()) kill(pid, "SIGSTOP");
  }

  async resume(): Promise<void> {
    for (const { pid } of await this.family()) kill(pid, "SIGCONT");
  }

  /** Sends SIGKILL to all processes. Resolves when they are gone, or after `GONE_MS`. */
  async kill(): Promise<void> {
    this.past_cpu_ms = await this.cpuMs();
    const family = await this.family();
    for (const { pid } of family) kill(pid, "SIGKILL");
    // Orphans end later than their parent. Postgres refuses to start while its previous process exists.
    const deadline = performance.now() + GONE_MS;
    while (family.some(({ pid }) => isAlive(pid)) && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    this.roots = [];
  }

  private async family() {
    const families = this.roots.map(({ pid }) => (pid === undefined ? [] : listFamily(pid)));
    return (await Promise.all(families)).flat();
  }
}
