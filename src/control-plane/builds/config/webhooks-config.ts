import { isRecord } from "../../../shared/guards.ts";
import {
  isHeaderText,
  isMalformed,
  variablesIn,
  WEBHOOK_ENV_PREFIX,
} from "../../../shared/templates.ts";
import { BuildFailure } from "../failure.ts";
import { assertAll, type Check, flag } from "./config-checks.ts";
import { type ConfigLocation, section, wrong } from "./config-values.ts";

/** Headers that Heddle or the connection sets. */
const RESERVED = [
  ...["webhook-id", "webhook-timestamp", "webhook-signature", "idempotency-key"],
  ...["content-type", "content-length", "transfer-encoding", "connection", "host"],
];
const HOST = /^(\*\.)?(?!-)[\p{L}\p{N}_-]+(\.[\p{L}\p{N}_-]+)*$/u;

const hosts: Check = {
  wanted: 'a list of hosts like ["hooks.example.com", "*.example.org"], without scheme or port',
  holds: (value) => isListOf(value, (host) => typeof host === "string" && HOST.test(host)),
};
const ports: Check = {
  wanted: "a list of ports like [443], each from 1 to 65535",
  holds: (value) => isListOf(value, (port) => isWhole(port, 65_535)),
};
const length: Check = {
  wanted: "a whole number of characters, from 1 to 2048",
  holds: (value) => isWhole(value, 2048),
};
const prefix: Check = {
  wanted: `the beginning of names of variables, like "${WEBHOOK_ENV_PREFIX}"`,
  holds: (value) => typeof value === "string" && /^[A-Za-z_][A-Za-z0-9_]*$/.test(value),
};

const RULES: Record<string, Check> = {
  require_https: flag,
  allowed_domains: hosts,
  allowed_ports: ports,
  max_url_length: length,
  disable_loopback: flag,
};

/** Checks `webhooks` of langgraph.json. The agent server reads it when it accepts a run and when it sends a webhook. */
export function assertWebhooks(place: ConfigLocation, value: unknown): void {
  const webhooks = section(place, "webhooks", value);
  assertAll(place, "webhooks", webhooks, { env_prefix: prefix });
  assertAll(place, "webhooks.url", section(place, "webhooks.url", webhooks.url), RULES);
  const headers = section(place, "webhooks.headers", webhooks.headers);
  const env_prefix =
    typeof webhooks.env_prefix === "string" ? webhooks.env_prefix : WEBHOOK_ENV_PREFIX;
  for (const [name, text] of Object.entries(headers)) assertHeader(place, name, text, env_prefix);
}

function assertHeader(place: ConfigLocation, name: string, text: unknown, env_prefix: string) {
  const at = `"webhooks.headers.${name}"`;
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
    throw invalidWebhooks(place, `${at} is not a valid header name`);
  if (RESERVED.includes(name.toLowerCase())) {
    throw invalidWebhooks(place, `${at} is set by Heddle with each webhook; choose another name`);
  }
  if (typeof text !== "string" || !isHeaderText(text)) {
    throw wrong(place.path, at, "one line of ASCII text", text);
  }
  const unprefixed = variablesIn(text).find((variable) => !variable.startsWith(env_prefix));
  if (unprefixed !== undefined) {
    const remedy = `rename it, or set "webhooks.env_prefix"`;
    throw invalidWebhooks(
      place,
      `${at} names env.${unprefixed}, which does not begin with ${env_prefix}; ${remedy}`,
    );
  }
  if (isMalformed(text)) {
    throw invalidWebhooks(
      place,
      `${at} has a template that is not of the form \${{ env.${env_prefix}NAME }}`,
    );
  }
}

function invalidWebhooks({ path }: ConfigLocation, text: string): BuildFailure {
  return new BuildFailure("config_invalid", `${path}: ${text}.`);
}

/** Returns the names of variables that header templates use and `variables` lacks. */
export function unsetVariables(
  config: Record<string, unknown> | null,
  variables: Record<string, string>,
): string[] {
  const { webhooks } = config ?? {};
  const headers = isRecord(webhooks) && isRecord(webhooks.headers) ? webhooks.headers : {};
  const named = Object.values(headers).flatMap((text) => variablesIn(String(text)));
  return [...new Set(named)].filter((name) => variables[name] === undefined);
}

function isListOf(value: unknown, holds: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(holds);
}

function isWhole(value: unknown, max: number): boolean {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= max;
}
