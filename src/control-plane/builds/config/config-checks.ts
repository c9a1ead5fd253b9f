import { type Place, wrong } from "./config-values.ts";

/** What a value of langgraph.json has to be, and how that is said to who wrote another. */
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

/** Those that are there; what is left out, or null, is as if nobody had said it. */
export function assertAll(
  { path }: Place,
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
