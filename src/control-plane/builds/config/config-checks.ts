import { type ConfigLocation, wrong } from "./config-values.ts";

/** Checks of langgraph.json's values, with errors for its author. */
export type Check = { wanted: string; holds: (value: unknown) => boolean };

export const flag: Check = {
  wanted: "true or false",
  holds: (value) => typeof value === "boolean",
};

const MINUTES_OF_A_YEAR = 366 * 24 * 60;

/** Checks a TTL in minutes. `max_years` is the limit of the agent server. */
export function minutes(max_years: number): Check {
  const max = max_years * MINUTES_OF_A_YEAR;
  return {
    wanted: `minutes, more than 0 and at most ${max}, or null`,
    holds: (value) => typeof value === "number" && value > 0 && value <= max,
  };
}

export function oneOf(values: readonly string[]): Check {
  return {
    wanted: values.map((value) => `"${value}"`).join(" or "),
    holds: (value) => typeof value === "string" && values.includes(value),
  };
}

export function textList(example: string): Check {
  return {
    wanted: `a list of texts like ["${example}"]`,
    holds: (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
  };
}

/** @throws BuildFailure when a value fails its check. Absent and `null` values pass */
export function assertAll(
  { path }: ConfigLocation,
  at: string,
  found: Record<string, unknown>,
  checks: Record<string, Check>,
) {
  for (const [key, { wanted, holds }] of Object.entries(checks)) {
    const value = found[key];
    if (value === undefined || value === null || holds(value)) continue;
    throw wrong(path, `"${at}.${key}"`, wanted, value);
  }
}
