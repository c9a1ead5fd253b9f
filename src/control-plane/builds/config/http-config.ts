import type { NamedExport } from "../contract.ts";
import { assertAll, type Check, flag, textList } from "./config-checks.ts";
import { type ConfigLocation, readExport, section } from "./config-values.ts";

const APP = '"file:export" of a Hono app, like "./src/app.ts:app"';
const MAX_PATTERN = 500;

const headers = textList("x-user-id");
const pattern: Check = {
  wanted: `a regular expression of at most ${MAX_PATTERN} characters`,
  holds: (value) => typeof value === "string" && value.length <= MAX_PATTERN && compiles(value),
};
const seconds: Check = {
  wanted: "a number of seconds, 0 or more",
  holds: (value) => typeof value === "number" && value >= 0,
};
const prefix: Check = {
  wanted: 'a path like "/agent", without a slash at its end',
  holds: (value) => typeof value === "string" && /^(\/[\w.~-]+)+$/.test(value),
};
const order: Check = {
  wanted: '"auth_first" or "middleware_first"',
  holds: (value) => value === "auth_first" || value === "middleware_first",
};

const HTTP_CHECKS: Record<string, Check> = {
  disable_assistants: flag,
  disable_threads: flag,
  disable_runs: flag,
  disable_crons: flag,
  disable_store: flag,
  disable_meta: flag,
  disable_mcp: flag,
  disable_a2a: flag,
  disable_ui: flag,
  disable_webhooks: flag,
  enable_custom_route_auth: flag,
  middleware_order: order,
  mount_prefix: prefix,
};
const HEADER_CHECKS: Record<string, Check> = { includes: headers, excludes: headers };
const CORS_CHECKS: Record<string, Check> = {
  allow_origins: textList("https://app.example.com"),
  allow_origin_regex: pattern,
  allow_methods: textList("GET"),
  allow_headers: headers,
  allow_credentials: flag,
  expose_headers: headers,
  max_age: seconds,
};

/**
 * Checks `http` of langgraph.json, and reads `http.app`. The agent server reads the other fields
 * (`access/http-settings.ts`). @returns the HTTP app, `null` when there is none
 */
export function readHttp(place: ConfigLocation, value: unknown): NamedExport | null {
  const http = section(place, "http", value);
  assertAll(place, "http", http, HTTP_CHECKS);
  for (const [key, checks] of Object.entries({
    cors: CORS_CHECKS,
    configurable_headers: HEADER_CHECKS,
  })) {
    assertAll(place, `http.${key}`, section(place, `http.${key}`, http[key]), checks);
  }
  const { app } = http;
  return app === undefined || app === null ? null : readExport(place, "http.app", app, APP);
}

function compiles(text: string): boolean {
  try {
    new RegExp(text);
    return true;
  } catch {
    return false;
  }
}
