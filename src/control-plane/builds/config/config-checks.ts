import { type ConfigLocation, wrong } from "./config-values.ts";

/** Checks of langgraph.json's values, with errors for its author. */
export type Check = { wanted: string; holds: (value: unknown) => boolean };

export const flag: Check = {
  wanted: "true or false",
  holds: (value) => typeof value === "boolean",
};

export function names(example: string): Check {
  return {
    wanted: `a list of texts like ["${example}"]`,
    holds: (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
  };
}

/** Drops absent and `null` values. */
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
