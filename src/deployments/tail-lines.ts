import type { LogLevel } from "./log-schema.ts";

/** Lines of a log from what the runtime tells of a call. Pure. */

export type AgentLine = { revision_id: string; level: LogLevel; message: string; at_us: number };

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
    .map(({ level, message, ms }) => ({
      revision_id,
      level,
      message: message.slice(0, MAX_MESSAGE_CHARACTERS),
      at_us: ms * 1000,
    }));
}

type Line = { level: LogLevel; message: string; ms: number };

function linesOf({ logs, exceptions, outcome, eventTimestamp }: TraceItem): Line[] {
  const fatal = FATAL[outcome];
  const end = Math.max(eventTimestamp ?? 0, ...logs.map(({ timestamp }) => timestamp));
  return [
    ...logs.map(({ level, message, timestamp }) => ({
      level: LEVELS[level] ?? "INFO",
      message: textOf(message),
      ms: timestamp,
    })),
    ...exceptions.map(({ name, message, stack, timestamp }) => ({
      level: "ERROR" as const,
      message: [`Uncaught ${name}: ${message}`, stack].filter(Boolean).join("\n"),
      ms: timestamp,
    })),
    ...(fatal === undefined ? [] : [{ level: "CRITICAL" as const, message: fatal, ms: end }]),
  ];
}

/** As a terminal shows what console.log was given. */
function textOf(message: unknown): string {
  const parts: unknown[] = Array.isArray(message) ? message : [message];
  return parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" ");
}
