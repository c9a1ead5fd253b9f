// Processes by key: a workspace, the quarantine of a workspace, or a build. Each key has a process to itself, unless
// the pool is full: then the agents or builds of several keys share the limits of one process.
import { readFile } from "node:fs/promises";
import { Child, type ChildOptions } from "./child.ts";
import { guard } from "./guard.ts";

export type PoolOptions = ChildOptions & {
  /** When so many processes run and none of them is spare, keys share processes. */
  max_processes: number;
  /** Whether a claim starts the next spare process. Otherwise one starts only while no process is claimed. */
  starts_ahead: boolean;
};

type Slot = {
  child: Child;
  ready: Promise<Child>;
  keys: Set<string>;
  used_at: number;
  /** Whether the process has answered once. Before, it counts as in use. */
  isReady: boolean;
  /** Whether the process serves no new claim, and ends after its calls in flight. */
  isRetired: boolean;
};

const IDLE_MS = 5 * 60_000;
/** Longer than FRESH_MS of entries/processes.ts, for which the main process uses an address without a claim. */
const IDLE_WHEN_FULL_MS = 3000;
const SWEEP_MS = 1000;
const READY_MS = 10_000;
/** Time for which callers can read why a process ended. */
const REASON_MS = 60_000;
/** Wait for the end of a process: its connections break a moment before its end is known. */
const EXIT_MS = 1000;

export class Pool {
  readonly #options: PoolOptions;
  readonly #slots = new Set<Slot>();
  readonly #ended = new Map<string, string>();
  readonly #timer: ReturnType<typeof setInterval>;
  #spare: Slot | null = null;
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#prestart();
    this.#timer = setInterval(() => void this.#sweep(), SWEEP_MS);
  }

  pids(): number[] {
    return [...this.#slots].map(({ child }) => child.pid);
  }

  /** Ends every process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const { child } of this.#slots) child.kill("The pool was closed.");
    await Promise.all([...this.#slots].map(({ child }) => child.exited));
  }

  /** Returns the address of the process of this key. @throws Error when the process does not start */
  async claim(key: string): Promise<string> {
    this.#retireFull(key);
    const slot = this.#find(key) ?? this.#take();
    slot.keys.add(key);
    slot.used_at = Date.now();
    if (this.#options.starts_ahead) this.#prestart();
    return (await slot.ready).address;
  }

  /**
   * Releases the process of a key whose work is over. The process becomes the spare if there is none, the work ended
   * well and its memory is small. Otherwise it is killed. A process that other keys use stays. Synchronous: during an
   * `await` the sweep would start another spare, and this process would be killed.
   */
  release(key: string, { isWell }: { isWell: boolean }): void {
    const slot = this.#find(key);
    slot?.keys.delete(key);
    if (slot === undefined || slot.keys.size > 0) return;
    const isSmall = slot.child.rss_bytes < this.#options.limits.rss_bytes / 2;
    if (isWell && isSmall && this.#spare === null) {
      this.#spare = slot;
      // The ping makes a builder's process load the isolate of its next build.
      void slot.child.ping(READY_MS);
    } else {
      slot.child.kill("The process was released.");
    }
  }

  /** Returns why the process at this address ended; `null` when it runs, or ended over a minute ago. */
  async reasonOf(address: string): Promise<string | null> {
    const slot = [...this.#slots].find(({ child }) => child.address === address);
    const timeout = new Promise((resolve) => setTimeout(resolve, EXIT_MS));
    if (slot === undefined) return this.#ended.get(address) ?? null;
    await Promise.race([slot.child.exited, timeout]);
    return slot.child.why;
  }

  #find(key: string): Slot | undefined {
    return [...this.#slots].find(({ keys, child }) => keys.has(key) && child.why === null);
  }

  /**
   * Retires the process of a key when it is full and the pool has room: a process grows, as workerd keeps all isolates.
   */
  #retireFull(key: string) {
    const slot = this.#find(key);
    if (!slot?.child.isFull || this.#slots.size >= this.#options.max_processes) return;
    console.log(`A full process takes no new calls. Keys: ${[...slot.keys].join(", ")}`);
    slot.isRetired = true;
    slot.keys.clear();
    slot.used_at = Date.now();
  }

  #take(): Slot {
    const spare = this.#spare;
    this.#spare = null;
    if (spare?.child.why === null) return spare;
    if (this.#slots.size < this.#options.max_processes) return this.#start();
    // No process is free: the one that serves the fewest serves one more.
    const [fewest] = [...this.#slots]
      .filter(({ child, isRetired }) => child.why === null && !isRetired)
      .sort((one, other) => one.keys.size - other.keys.size);
    return fewest ?? this.#start();
  }

  /** Starts the spare process if the pool has room, so that a first call need not wait for a start. */
  #prestart() {
    if (this.#isClosed || this.#spare || this.#slots.size >= this.#options.max_processes) return;
    this.#spare = this.#start();
  }

  #start(): Slot {
    const child = new Child(this.#options);
    const ready = child.start();
    const states = { isReady: false, isRetired: false };
    const slot: Slot = { child, ready, keys: new Set(), used_at: Date.now(), ...states };
    this.#slots.add(slot);
    ready.then(
      () => Object.assign(slot, { isReady: true, used_at: Date.now() }),
      () => {},
    );
    void guard(child, this.#options.limits).finally(() => this.#forget(slot));
    return slot;
  }

  #forget(slot: Slot) {
    const { address, why } = slot.child;
    this.#slots.delete(slot);
    if (this.#spare === slot) this.#spare = null;
    if (why === null) return;
    this.#ended.set(address, why);
    setTimeout(() => this.#ended.delete(address), REASON_MS).unref();
    if (slot.keys.size > 0) console.log(`${why} Keys: ${[...slot.keys].join(", ")}`);
  }

  async #sweep() {
    const open = await openSockets();
    const now = Date.now();
    for (const slot of this.#slots) endIdle(slot, open);
    const claimed = [...this.#slots].filter(({ keys }) => keys.size > 0);
    const limit_ms = this.#spare === null ? IDLE_WHEN_FULL_MS : IDLE_MS;
    const [oldest] = claimed.sort((one, other) => one.used_at - other.used_at);
    if (oldest && now - oldest.used_at > limit_ms) {
      oldest.keys.clear();
      oldest.child.kill("The process was idle.");
    }
    if (claimed.length === 0 || this.#options.starts_ahead) this.#prestart();
  }
}

/** Notes whether a process is in use. Ends a retired process that has not been in use for a time. */
function endIdle(slot: Slot, open: Set<string> | null) {
  const isOpen = !slot.isReady || (open?.has(slot.child.socket) ?? !slot.isRetired);
  if (isOpen) slot.used_at = Date.now();
  const limit_ms = open === null ? IDLE_MS : IDLE_WHEN_FULL_MS;
  const isOver = slot.isRetired && Date.now() - slot.used_at > limit_ms;
  if (isOver) slot.child.kill("The process was replaced.");
}

/** Returns the sockets that have a connection; `null` where that cannot be read. */
async function openSockets(): Promise<Set<string> | null> {
  const table = await readFile("/proc/net/unix", "utf8").catch(() => null);
  if (table === null) return null;
  const connected = table.split("\n").filter((line) => line.split(/\s+/)[5] === "03");
  return new Set(connected.map((line) => line.split(/\s+/)[7] ?? ""));
}
