import { z } from "zod";
import { AppError } from "../../../shared/errors.ts";

const Flag = z.boolean().nullish();

const UrlRules = z.object({
  require_https: Flag,
  allowed_domains: z.array(z.string()).nullish(),
  allowed_ports: z.array(z.number()).nullish(),
  max_url_length: z.number().nullish(),
  disable_loopback: Flag,
});
export type UrlRules = z.infer<typeof UrlRules>;

/** Fields of `webhooks` in langgraph.json that the Worker uses. The builder validates all of it. */
const Webhooks = z.object({
  env_prefix: z.string().min(1).nullish(),
  headers: z.record(z.string(), z.string()).nullish(),
  url: UrlRules.nullish(),
});
export type WebhookSettings = z.infer<typeof Webhooks>;

/** Fails closed: with rules that the Worker cannot read, no webhook is sent. */
export function webhookSettings(config: Record<string, unknown> | null): WebhookSettings {
  const { data } = Webhooks.safeParse(config?.webhooks ?? {});
  if (data) return data;
  const text = '"webhooks" of this revision\'s langgraph.json is invalid';
  throw new AppError(
    "invalid_request",
    `${text}: create a new revision, whose build log has the reason.`,
  );
}
