import { z } from "zod";
import { plainData } from "../../../shared/plain.ts";
import type { LogLevel } from "./log-schema.ts";

/** Converts trace events of the Workers runtime to log lines. Pure. */

export type TailProps = { deployment_id: string; revision_id: string };

export type AgentLine = {
  revision_id: string;
  level: LogLevel;
  message: string;
  at_us: number;
  /** Key of a line that may arrive twice: during its run and after the end of the call, or by a retry. */
  key: string | null;
};

/** A line that src/isolate sends during a run. */
export type ReceivedLine = { key: string; level: string; message: string; ms: number };

/** Prefix of the key that a run prints before a line. */
export const LINE_MARK = "\u001eheddle-line ";

const LEVELS = new Map<string, LogLevel>([
  ["debug", "DEBUG"],
  ["warn", "WARNING"],
  ["error", "ERROR"],
]);
/** Lines for outcomes of a call. Other outcomes have a line already, or the caller caused them. */
const FATAL: Partial<Record<string, string>> = {
  exceededCpu: "The agent was stopped: it exceeded the CPU time of a call.",
  exceededMemory: "The agent was stopped: it exceeded the memory of an isolate.",
};
const HUNG = "The Workers runtime canceled this request because it detected";
const NOISE = [
  HUNG,
  "An RPC stub was not disposed properly.",
  "An RPC result was not disposed properly.",
  // Pools of connections in modules wait for sockets in one call and use them in others.
  "Warning: A promise was resolved or rejected from a different request context",
];
const MAX_MESSAGE_CHARACTERS = 8000;
const MAX_LINES = 1000;
const MAX_KEY_CHARACTERS = 200;
/** Arguments of one line. */
const MAX_PARTS = 100;
const Part = plainData({ nodes: 10_000, characters: 64 * 1024, depth: 100 });

/** A received line. Invalid ones are dropped: the agent's code can call the entrypoint that receives them. */
const Early = z.object({
  key: z.string().max(MAX_KEY_CHARACTERS),
  level: z.string(),
  message: z.string(),
  ms: z.int(),
});
const Log = z.object({ level: z.string(), message: z.unknown(), timestamp: z.number() });
const Thrown = z.object({
  name: z.string(),
  message: z.string(),
  stack: z.string().nullish(),
  timestamp: z.number(),
});
const Item = z.object({
  outcome: z.string(),
  eventTimestamp: z.number().nullish(),
  logs: z.unknown().transform((value) => parseSome(value, Log)),
  exceptions: z.unknown().transform((value) => parseSome(value, Thrown)),
});
type Item = z.infer<typeof Item>;

function parseSome<T>(value: unknown, schema: z.ZodType<T>): T[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, MAX_LINES).flatMap((one) => schema.safeParse(one).data ?? []);
}

export function toLines(revision_id: string, events: readonly TraceItem[]): AgentLine[] {
  const now = Date.now();
  const lines = parseSome(events, Item).flatMap((event) => linesOf(event));
  return lines
    .sort((one, other) => one.ms - other.ms)
    .slice(0, MAX_LINES)
    .map((line) => toLine(revision_id, { ...line, ms: Math.min(line.ms, now) }));
}

/**
 * Converts lines of a running call. Its clock is untrusted: after a line with a time in the future, `append` would give
 * all later lines times after that.
 */
export function toEarlyLines(revision_id: string, lines: ReceivedLine[], now: number): AgentLine[] {
  return parseSome(lines, Early).map(({ key, level, message, ms }) => {
    const line = { key, level: LEVELS.get(level) ?? "INFO", message, ms: Math.min(ms, now) };
    return toLine(revision_id, line);
  });
}

function toLine(revision_id: string, { key, level, message, ms }: Line): AgentLine {
  const cut = message.slice(0, MAX_MESSAGE_CHARACTERS);
  return { revision_id, level, message: cut, at_us: ms * 1000, key };
}

type Line = { level: LogLevel; message: string; ms: number; key: string | null };

function linesOf({ logs, exceptions, outcome, eventTimestamp }: Item): Line[] {
  const fatal = Object.hasOwn(FATAL, outcome) ? FATAL[outcome] : undefined;
  const end = Math.max(eventTimestamp ?? 0, ...logs.map(({ timestamp }) => timestamp));
  return [
    ...logs.filter(isPrinted).map(({ level, message, timestamp }) => ({
      level: LEVELS.get(level) ?? "INFO",
      ...printed(message),
      ms: timestamp,
    })),
    ...exceptions.filter(isOfAgent).map(({ name, message, stack, timestamp }) => ({
      level: "ERROR" as const,
      message: [`Uncaught ${name}: ${message}`, stack].filter(Boolean).join("\n"),
      ms: timestamp,
      key: null,
    })),
    ...(fatal === undefined
      ? []
      : [{ level: "CRITICAL" as const, message: fatal, ms: end, key: null }]),
  ];
}

/** Excludes warnings of workerd about Heddle's RPC and about pools of connections, which an author cannot change. */
function isPrinted({ message }: { message: unknown }): boolean {
  const [text] = Array.isArray(message) ? message : [message];
  return typeof text !== "string" || !NOISE.some((start) => text.startsWith(start));
}

/**
 * Excludes an error of workerd in the local stack. It reports a call from another process as hung when the answer was
 * sent and a promise of the caller is still open.
 */
function isOfAgent({ message }: { message: string }): boolean {
  return !message.startsWith(HUNG);
}

function printed(message: unknown): { message: string; key: string | null } {
  const parts: unknown[] = Array.isArray(message) ? message : [message];
  const [mark, ...rest] = parts;
  if (typeof mark !== "string" || !mark.startsWith(LINE_MARK)) {
    return { message: textOf(parts), key: null };
  }
  return { message: textOf(rest), key: mark.slice(LINE_MARK.length) };
}

/** Joins the arguments of console.log as a terminal does. Objects are JSON. */
function textOf(parts: unknown[]): string {
  const texts = parts.slice(0, MAX_PARTS).map((part) => {
    if (typeof part === "string") return part.slice(0, MAX_MESSAGE_CHARACTERS);
    return JSON.stringify(Part.safeParse(part).data);
  });
  return texts.join(" ");
}
