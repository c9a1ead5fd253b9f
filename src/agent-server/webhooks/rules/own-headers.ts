import { AppError } from "../../../shared/errors.ts";
import {
  fillIn,
  isHeaderText,
  variablesIn,
  WEBHOOK_ENV_PREFIX,
} from "../../../shared/templates.ts";
import type { WebhookSettings } from "./settings.ts";

export function hasTemplates({ headers }: WebhookSettings): boolean {
  return Object.values(headers ?? {}).some((text) => variablesIn(text).length > 0);
}

/** Returns the agent's own headers of a webhook. Errors name variables and headers, without their values. */
export function ownHeaders(
  { headers, env_prefix }: WebhookSettings,
  variables: Record<string, string>,
): Record<string, string> {
  const prefix = env_prefix ?? WEBHOOK_ENV_PREFIX;
  const entries = Object.entries(headers ?? {}).map(([header, text]) => {
    const toValue = (name: string) => {
      const value = name.startsWith(prefix) ? variables[name] : undefined;
      if (value === undefined) throw unsent(header, `env.${name} has no allowed value`);
      return value;
    };
    const filled = fillIn(text, toValue);
    if (!isHeaderText(filled)) throw unsent(header, "its value must be one line of ASCII text");
    return [header.toLowerCase(), filled] as const;
  });
  return Object.fromEntries(entries);
}

/** Returns a temporary error: the secret may be set before the next attempt. */
function unsent(header: string, why: string): AppError {
  return new AppError("unavailable", `webhooks.headers.${header} of the agent: ${why}.`);
}
