import { textOfError } from "../shared/log.ts";

/** Maximum characters of an object in R2: the events, the text and its compressed form share 128 MB of memory. */
const MAX_CHARACTERS = 4_000_000;
const MAX_ERROR_CHARACTERS = 8000;
const LEVELS = ["info", "warn", "error"];
/** Outcomes without a line: the second is a client that closed its stream. */
const EXPECTED = ["ok", "responseStreamDisconnected"];

type Fields = Record<string, unknown>;

/**
 * Returns the log lines of invocations as newline-delimited JSON, up to MAX_CHARACTERS. A line has the method and the
 * status of its request, and not the URL and the headers, which may contain credentials.
 * @returns an empty string without lines
 */
export function toNdjson(events: readonly TraceItem[]): string {
  const lines = events.flatMap(linesOf).map((line) => redact(JSON.stringify(line)));
  let charactersLeft = MAX_CHARACTERS;
  const kept = lines.filter((line) => {
    charactersLeft -= line.length + 1;
    return charactersLeft >= 0;
  });
  const dropped = lines.length - kept.length;
  const time = new Date().toISOString();
  const note = { time, level: "error", event: "log_lines_dropped", lines: dropped };
  if (dropped > 0) kept.push(JSON.stringify(note));
  return kept.map((line) => `${line}\n`).join("");
}

function linesOf(item: TraceItem): Fields[] {
  const { outcome, exceptions, truncated } = item;
  const lines = item.logs.flatMap(printedLine);
  for (const { timestamp, name, message, stack = "" } of exceptions) {
    const text = textOfError({ message, stack: `${name}: ${message}\n${stack}` });
    const error = text.slice(0, MAX_ERROR_CHARACTERS);
    lines.push({ ...startOfLine(timestamp, "error"), event: "uncaught_exception", error });
  }
  const isExplained = outcome === "exception" && exceptions.length > 0;
  if (!EXPECTED.includes(outcome) && !isExplained) {
    const level = outcome === "canceled" ? "info" : "error";
    const times = { cpu_ms: item.cpuTime, wall_ms: item.wallTime };
    lines.push({
      ...startOfLine(item.eventTimestamp, level),
      event: "invocation_failed",
      outcome,
      ...times,
    });
  }
  if (truncated)
    lines.push({ ...startOfLine(item.eventTimestamp, "warn"), event: "log_truncated" });
  if (lines.length === 0) return [];
  const origin = originOf(item);
  return lines.map((line) => ({ ...line, ...origin }));
}

function startOfLine(timestamp: number | null, level: string) {
  return { time: new Date(timestamp ?? Date.now()).toISOString(), level };
}

/** Parses a line of `log`. Text that libraries and the runtime print is dropped. */
function printedLine({ timestamp, message }: TraceLog): Fields[] {
  const [text, ...rest]: unknown[] = Array.isArray(message) ? message : [];
  if (typeof text !== "string" || rest.length > 0 || !text.startsWith("{")) return [];
  const { level, event, ...fields } = parseObject(text);
  if (typeof level !== "string" || !LEVELS.includes(level) || typeof event !== "string") return [];
  return [{ ...startOfLine(timestamp, level), event, ...fields }];
}

function parseObject(text: string): Fields {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function originOf({ scriptName, entrypoint, scriptVersion, durableObjectId, event }: TraceItem) {
  const script = { script: scriptName ?? undefined, version: scriptVersion?.id };
  return { ...script, entrypoint, object_id: durableObjectId, ...triggerOf(event) };
}

function triggerOf(event: TraceItem["event"]): Fields {
  if (event === null) return {};
  if ("request" in event) {
    const { request, response } = event;
    return { trigger: "fetch", method: request.method, status: response?.status };
  }
  if ("rpcMethod" in event) return { trigger: "rpc", rpc_method: event.rpcMethod };
  if ("queue" in event) return { trigger: "queue", queue: event.queue };
  if ("cron" in event) return { trigger: "cron" };
  if ("scheduledTime" in event) return { trigger: "alarm" };
  return "getWebSocketEvent" in event ? { trigger: "websocket" } : {};
}

const URL_IN_TEXT = /https?:\/\/[^\s"'\\<>]+/g;
const CREDENTIAL = /\b(lsv2_|hds_|whsec_|Bearer |Basic )[\w.~+/=:-]+/g;

/** Removes credentials: messages of libraries may contain some. */
function redact(text: string): string {
  return text.replace(URL_IN_TEXT, addressOf).replace(CREDENTIAL, "$1...");
}

/** Removes the user, the query and the fragment of a URL: each may be a credential. */
function addressOf(url: string): string {
  const [address = ""] = url.split(/[?#]/);
  const [scheme, , host = "", ...path] = address.split("/");
  return [scheme, "", host.slice(host.lastIndexOf("@") + 1), ...path].join("/");
}
