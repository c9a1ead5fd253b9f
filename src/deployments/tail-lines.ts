import type { LogLevel } from "./log-schema.ts";

/** Lines of a log from what the runtime tells of a call. Pure. */

export type AgentLine = {
  revision_id: string;
  level: LogLevel;
  message: string;
  at_us: number;
  /** Of a line that may come twice: while its run lasts, and after the end of the call. */
  key: string | null;
};

/** As src/isolate sends it. */
export type EarlyLine = { key: string; level: string; message: string; ms: number };

/** What stands before the key that a run prints in front of a line. */
export const LINE_MARK = "\u001eheddle-line ";

const LEVELS: Record<string, LogLevel> = { debug: "DEBUG", warn: "WARNING", error: "ERROR" };
/** What else an outcome says is in the lines already, or is the caller's doing. */
const FATAL: Record<string, string> = {
  exceededCpu: "The agent was ended: it used more CPU time than a call may.",
  exceededMemory: "The agent was ended: it used more memory than an isolate may.",
};
const MAX_MESSAGE_CHARACTERS = 8000;
const MAX_LINES = 1000;

export function toLines(revision_id: string, events: readonly TraceItem[]): AgentLine[] {
  const lines = events.flatMap((event) => linesOf(event));
  return lines
    .sort((one, other) => one.ms - other.ms)
    .slice(0, MAX_LINES)
    .map((line) => toLine(revision_id, line));
}

/** Of a run that goes on. Its clock may be anything; the log's times only grow, so none lies ahead. */
export function toEarlyLines(revision_id: string, lines: EarlyLine[], now: number): AgentLine[] {
  return lines.slice(0, MAX_LINES).map(({ key, level, message, ms }) => {
    const line = { key, level: LEVELS[level] ?? "INFO", message, ms: Math.min(ms, now) };
    return toLine(revision_id, line);
  });
}

function toLine(revision_id: string, { key, level, message, ms }: Line): AgentLine {
  const cut = message.slice(0, MAX_MESSAGE_CHARACTERS);
  return { revision_id, level, message: cut, at_us: ms * 1000, key };
}

type Line = { level: LogLevel; message: string; ms: number; key: string | null };

function linesOf({ logs, exceptions, outcome, eventTimestamp }: TraceItem): Line[] {
  const fatal = FATAL[outcome];
  const end = Math.max(eventTimestamp ?? 0, ...logs.map(({ timestamp }) => timestamp));
  return [
    ...logs.map(({ level, message, timestamp }) => ({
      level: LEVELS[level] ?? "INFO",
      ...printed(message),
      ms: timestamp,
    })),
    ...exceptions.map(({ name, message, stack, timestamp }) => ({
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

function printed(message: unknown): { message: string; key: string | null } {
  const parts: unknown[] = Array.isArray(message) ? message : [message];
  const [mark, ...rest] = parts;
  if (typeof mark !== "string" || !mark.startsWith(LINE_MARK)) {
    return { message: textOf(parts), key: null };
  }
  return { message: textOf(rest), key: mark.slice(LINE_MARK.length) };
}

/** As a terminal shows what console.log was given. */
function textOf(parts: unknown[]): string {
  return parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" ");
}
