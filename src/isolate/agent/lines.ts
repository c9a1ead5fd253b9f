import { AsyncLocalStorage } from "node:async_hooks";
import type { AgentProps, EarlyLine } from "../environment-contract.ts";
import { failureText, toFailure } from "../failure.ts";

/** Interval of flushes while a person may watch the first ones; shorter calls log at their end. */
const SOON_MS = 250;
const SOON_FLUSHES = 240;
/** Interval of later flushes. Each flush is a subrequest of the call, which may have 1000. */
const FLUSH_MS = 1000;
/** Maximum number of lines per flush; the rest appears at the end of the call. */
const MAX_WAITING = 500;
const MAX_CHARACTERS = 8000;
const LEVELS = ["debug", "log", "info", "warn", "error"] as const;

type Level = (typeof LEVELS)[number];

const relays = new AsyncLocalStorage<LineRelay>();

/**
 * Streams the lines of a call. The runtime logs a call's output only at its end, up to hours later.
 * A line is sent early under a key that its printed copy carries too, so duplicates merge and a
 * crash loses no line.
 */
class LineRelay {
  readonly #props: AgentProps;
  readonly #call = crypto.randomUUID();
  #count = 0;
  #flushes = 0;
  #waiting: EarlyLine[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(props: AgentProps) {
    this.#props = props;
  }

  /** Returns the mark of this line. */
  add(level: Level, parts: unknown[]): string {
    const key = `${this.#call}:${this.#count++}`;
    if (this.#waiting.length < MAX_WAITING) {
      this.#waiting.push({ key, level, message: toText(parts), ms: Date.now() });
    }
    const wait_ms = this.#flushes < SOON_FLUSHES ? SOON_MS : FLUSH_MS;
    this.#timer ??= setTimeout(() => this.flush(), wait_ms);
    return this.#props.line_mark + key;
  }

  end() {
    clearTimeout(this.#timer);
  }

  async flush() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flushes += 1;
    // Lost lines appear at the end of the call.
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

/** Streams what `work` prints while it runs. `hasMore`: the call continues after `work`. */
export async function streamLogs<T>(
  props: AgentProps | undefined,
  work: () => Promise<T>,
  hasMore: () => boolean,
): Promise<T> {
  if (!props?.lines) return work();
  const relay = new LineRelay(props);
  try {
    return await relays.run(relay, work);
  } finally {
    if (hasMore()) void relay.flush();
    else relay.end();
  }
}

function toText(parts: unknown[]): string {
  return parts.map(partOf).join(" ").slice(0, MAX_CHARACTERS);
}

function partOf(part: unknown): string {
  if (typeof part === "string") return part;
  if (part instanceof Error) return failureText(toFailure(part));
  try {
    return JSON.stringify(part) ?? String(part);
  } catch {
    return String(part);
  }
}
