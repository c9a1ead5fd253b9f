import { AsyncLocalStorage } from "node:async_hooks";
import { format } from "node:util";
import type { AgentProps, EarlyLine } from "../environment-contract.ts";
import { failureText, toFailure } from "../failure.ts";

/** Interval of the first flushes, because a person may watch them. A shorter call logs only at its end. */
const SOON_MS = 250;
/** Number of the first flushes: a minute of them. */
const SOON_FLUSHES = 240;
/** Interval of later flushes. Each flush is one of the 10,000 subrequests of the call. */
const FLUSH_MS = 1000;
/** Maximum number of lines in a flush. Other lines appear at the end of the call only. */
const MAX_WAITING = 500;
/** Maximum length of a line; the rest is cut off. */
const MAX_CHARACTERS = 8000;
const LEVELS = ["debug", "log", "info", "warn", "error"] as const;

type Level = (typeof LEVELS)[number];

const relays = new AsyncLocalStorage<LineRelay>();

/**
 * Sends the lines of a call before the call ends: the runtime logs its output only at the end, up to hours later. The
 * printed copy of a line has the same key, so that the log keeps one of them. Lines that were sent survive a crash.
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

  /** Queues a line for the next flush. Returns what is printed. */
  add(level: Level, parts: unknown[]): [mark: string, text: string] {
    const message = toText(parts);
    const key = `${this.#call}:${this.#count++}`;
    if (this.#waiting.length < MAX_WAITING) {
      this.#waiting.push({ key, level, message, ms: Date.now() });
    }
    const wait_ms = this.#flushes < SOON_FLUSHES ? SOON_MS : FLUSH_MS;
    this.#timer ??= setTimeout(() => this.flush(), wait_ms);
    return [this.#props.line_mark + key, message];
  }

  end() {
    clearTimeout(this.#timer);
  }

  async flush() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flushes += 1;
    // Lines that could not be sent appear at the end of the call.
    await this.#props.lines.early(this.#waiting.splice(0)).catch(() => {});
  }
}

for (const level of LEVELS) {
  // biome-ignore lint/suspicious/noConsole: the agent's own console, which prints as before
  const print = console[level].bind(console);
  console[level] = (...parts: unknown[]) => {
    print(...(relays.getStore()?.add(level, parts) ?? parts));
  };
}

/** Sends the lines that `work` prints while it runs. `hasMore`: whether the call continues after `work`. */
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

/** Returns the text that Node.js prints, but with objects as JSON, which log queries can match. Cuts long texts. */
function toText(parts: unknown[]): string {
  const [first, ...others] = parts;
  const hasPlaceholders =
    typeof first === "string" && others.length > 0 && /%[sdifjoO]/.test(first);
  const text = hasPlaceholders
    ? format(first, ...others.map(formatArgument))
    : parts.map(partOf).join(" ");
  return text.slice(0, MAX_CHARACTERS);
}

/** Keeps a number for `%d`, and formats objects as text. */
function formatArgument(part: unknown): unknown {
  return typeof part === "object" && part !== null ? partOf(part) : part;
}

function partOf(part: unknown): string {
  if (typeof part === "string") return part;
  if (part instanceof Error) return failureText(toFailure(part));
  try {
    return JSON.stringify(part, withErrors) ?? String(part);
  } catch {
    return String(part);
  }
}

/** Replaces errors, maps and sets, whose content JSON would omit. */
function withErrors(_key: string, value: unknown): unknown {
  if (value instanceof Error) return failureText(toFailure(value));
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  return value;
}
