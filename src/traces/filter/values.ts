import { MAX_VALUE_CHARS } from "../limits.ts";
import type { FieldType } from "./fields.ts";
import type { Operand } from "./tree.ts";

export type Literal = string | number | boolean | null;

type Reader = { expected: string; read: (literal: Literal) => Operand | null };

const TIME_EXAMPLE = '"2026-01-31T12:00:00Z"';

/** Parsers of literals by type of field. They return `null` for a literal that the field does not take. */
export const READERS: Record<FieldType, Reader> = {
  text: { expected: "a string in quotes", read: readText },
  name: {
    expected: "a string in quotes",
    read: (literal) => (typeof literal === "string" ? literal.toLowerCase() : null),
  },
  error: { expected: "a string in quotes, null, true or false", read: readText },
  number: {
    expected: "a number without quotes",
    read: (literal) => (typeof literal === "number" ? literal : null),
  },
  score: {
    expected: "a number without quotes, true, false or null",
    read: (literal) =>
      typeof literal === "number" || typeof literal === "boolean" ? Number(literal) : null,
  },
  boolean: {
    expected: "true or false, without quotes",
    read: (literal) => (typeof literal === "boolean" ? Number(literal) : null),
  },
  duration: {
    expected: 'a number of seconds, or a duration such as "100ms", "5s" or "2m"',
    read: readDuration,
  },
  time: {
    expected: `an ISO 8601 time such as ${TIME_EXAMPLE}`,
    read: (literal) => (typeof literal === "string" ? readTime(literal) : null),
  },
  cursor: {
    expected: `a time such as ${TIME_EXAMPLE}, optionally followed by a run id`,
    read: (literal) => (typeof literal === "string" ? literal : null),
  },
  key: {
    expected: "a string in quotes",
    read: (literal) => (typeof literal === "string" ? literal.slice(0, MAX_VALUE_CHARS) : null),
  },
  indexed: {
    expected: "a string in quotes, a number, true, false or null",
    read: (literal) =>
      typeof literal === "number" ? literal : String(literal).slice(0, MAX_VALUE_CHARS),
  },
  scalar: {
    expected: "a string in quotes, a number, true, false or null",
    read: (literal) => (literal === null ? null : String(literal)),
  },
};

function readText(literal: Literal): string | null {
  return typeof literal === "string" ? literal : null;
}

const UNIT_US: Record<string, number> = {
  us: 1,
  µs: 1,
  ms: 1000,
  s: 1_000_000,
  m: 60_000_000,
  h: 3_600_000_000,
  d: 86_400_000_000,
};
const DURATION = /^(?:\d+(?:\.\d+)?\s*(?:us|µs|ms|s|m|h|d)\s*)+$/;
const DURATION_PART = /(\d+(?:\.\d+)?)\s*(us|µs|ms|s|m|h|d)/g;

/** Parses to microseconds. A bare number, in quotes or not, is seconds. */
function readDuration(literal: Literal): number | null {
  if (typeof literal === "number") return Math.round(literal * 1_000_000);
  const text = typeof literal === "string" ? literal.trim().slice(0, 100) : "";
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.round(Number(text) * 1_000_000);
  if (!DURATION.test(text)) return null;
  let micros = 0;
  for (const [, amount, unit = ""] of text.matchAll(DURATION_PART)) {
    micros += Number(amount) * (UNIT_US[unit] ?? 0);
  }
  return Math.round(micros);
}

const TIME =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d\d(?::?\d\d)?)?$/i;

/** Parses to epoch microseconds; a time without a zone is UTC. */
function readTime(text: string): number | null {
  const match = TIME.exec(text.trim().slice(0, 100));
  if (!match) return null;
  const [, date, minute = "00:00", second = ":00", fraction = "", zone = "Z"] = match;
  const whole = Date.parse(`${date}T${minute}${second}${toZone(zone)}`);
  if (Number.isNaN(whole)) return null;
  return whole * 1000 + Number(fraction.slice(0, 6).padEnd(6, "0"));
}

function toZone(zone: string): string {
  if (zone.toUpperCase() === "Z") return "Z";
  const digits = zone.slice(1).replace(":", "").padEnd(4, "0");
  return `${zone[0]}${digits.slice(0, 2)}:${digits.slice(2)}`;
}

const CURSOR_ID = /[\s,|]*([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/i;

/** Parses a position in a list of runs: a start time, and optionally the id of a run. @returns `null` when malformed */
export function readCursor(text: string): { start_us: number; id: string | null } | null {
  const id = CURSOR_ID.exec(text);
  const start_us = readTime(id === null ? text : text.slice(0, id.index));
  if (start_us === null) return null;
  return { start_us, id: id?.[1]?.toLowerCase() ?? null };
}
