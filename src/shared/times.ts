const ISO = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d+))?\s*(Z|[+-]\d\d:?\d\d)?$/i;

/**
 * Numbers below FIRST_MS are seconds since 1970, those below FIRST_US milliseconds, all others microseconds. SDKs send
 * milliseconds.
 */
const FIRST_MS = 100_000_000_000;
const FIRST_US = 100_000_000_000_000;
/** Range of times whose ISO text has a year of four digits. */
const YEAR_0_US = -62_167_219_200_000_000;
const YEAR_10000_US = 253_402_300_800_000_000;
export const DAY_US = 86_400_000_000;

/** Returns the epoch microseconds of a client's time, `null` when it is malformed. */
export function toMicros(value: string | number): number | null {
  const micros = typeof value === "number" ? fromNumber(value) : fromText(value);
  return micros !== null && isFourDigitYear(micros) ? micros : null;
}

/** Returns false also for NaN. */
export function isFourDigitYear(micros: number): boolean {
  return micros >= YEAR_0_US && micros < YEAR_10000_US;
}

function fromNumber(value: number): number | null {
  if (!Number.isFinite(value)) return null;
  if (value < FIRST_MS) return Math.round(value * 1_000_000);
  return Math.round(value < FIRST_US ? value * 1000 : value);
}

/** Text without a zone is UTC. */
function fromText(value: string): number | null {
  const match = ISO.exec(value.trim());
  if (!match) return null;
  const [, date, time, fraction = "", zone = "Z"] = match;
  const whole = Date.parse(`${date}T${time}${zone}`);
  return Number.isNaN(whole) ? null : whole * 1000 + Number(fraction.slice(0, 6).padEnd(6, "0"));
}

export function toIso(micros: number): string {
  const ms = Math.floor(micros / 1000);
  const rest = String(micros - ms * 1000).padStart(3, "0");
  return `${new Date(ms).toISOString().slice(0, -1)}${rest}Z`;
}

export function nowMicros(): number {
  return Date.now() * 1000;
}

let last = { day: Number.NaN, text: "" };

/** Returns the UTC day, `2026-11-20`. Caches the last one: consecutive runs are mostly of the same day. */
export function dayOf(micros: number): string {
  const day = Math.floor(micros / DAY_US);
  if (day !== last.day) {
    last = { day, text: new Date(Math.floor(micros / 1000)).toISOString().slice(0, 10) };
  }
  return last.text;
}

export function dayBefore(day: string): string {
  return dayOf((toMicros(`${day}T00:00:00Z`) ?? 0) - DAY_US);
}

/**
 * Matches the version and the variant of RFC 9562. Ids of OpenTelemetry are random in both places, so a check of only one
 * would accept many of them.
 */
const IS_VERSION_7 = /^.{14}7.{4}[89ab]/i;

/** Returns the epoch microseconds of a UUID of version 7, `null` for others and for years of five digits. */
export function timeOfId(id: string): number | null {
  if (!IS_VERSION_7.test(id)) return null;
  const micros = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) * 1000;
  return isFourDigitYear(micros) ? micros : null;
}
