import { AsyncLocalStorage } from "node:async_hooks";
import type { AgentProps, EarlyLine } from "../contract.ts";

/** A shorter run is over before anybody could read along. */
const FLUSH_MS = 1000;
/** Of one flush; what comes faster is in the log when the call is over. */
const MAX_WAITING = 500;
const MAX_CHARACTERS = 8000;
const LEVELS = ["debug", "log", "info", "warn", "error"] as const;

type Level = (typeof LEVELS)[number];

const relays = new AsyncLocalStorage<LineRelay>();

/**
 * The runtime tells what a call printed when it is over, which is late for one that lasts for hours. So
 * lines of a run leave before that too, under a key that the printed one carries as a mark: whichever
 * comes first is kept, and a crash loses none.
 */
class LineRelay {
  readonly #props: AgentProps;
  readonly #call = crypto.randomUUID();
  #count = 0;
  #waiting: EarlyLine[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(props: AgentProps) {
    this.#props = props;
  }

  /** The mark of this line. */
  add(level: Level, parts: unknown[]): string {
    const key = `${this.#call}:${this.#count++}`;
    if (this.#waiting.length < MAX_WAITING) {
      this.#waiting.push({ key, level, message: toText(parts), ms: Date.now() });
    }
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS);
    return this.#props.line_mark + key;
  }

  end() {
    clearTimeout(this.#timer);
  }

  async #flush() {
    this.#timer = undefined;
    // What does not arrive comes with the end of the call.
    await this.#props.lines.early(this.#waiting.splice(0)).catch(() => {});
  }
}

for (const level of LEVELS) {
  // biome-ignore lint/suspicious/noConsole: the agent's own, which prints as before
  const print = console[level].bind(console);
  console[level] = (...parts: unknown[]) => {
    const mark = relays.getStore()?.add(level, parts);
    if (mark === undefined) print(...parts);
    else print(mark, ...parts);
  };
}

/** What `work` prints can be read while it runs. */
export async function readAlong<T>(
  props: AgentProps | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (!props?.lines) return work();
  const relay = new LineRelay(props);
  try {
    return await relays.run(relay, work);
  } finally {
    relay.end();
  }
}

function toText(parts: unknown[]): string {
  return parts.map(partOf).join(" ").slice(0, MAX_CHARACTERS);
}

function partOf(part: unknown): string {
  if (typeof part === "string") return part;
  if (part instanceof Error) return part.stack ?? String(part);
  try {
    return JSON.stringify(part) ?? String(part);
  } catch {
    return String(part);
  }
}
