import { z } from "zod";

const MINUTE_MS = 60_000;

/** Fields of `store` in langgraph.json that the Worker uses. The builder validates all of it. */
const Settings = z.object({
  index: z.object({}).nullish(),
  ttl: z
    .object({ default_ttl: z.number().nullish(), refresh_on_read: z.boolean().nullish() })
    .nullish(),
});

export type StoreSettings = {
  /** Whether the isolate turns texts into vectors. */
  is_indexed: boolean;
  default_ttl_ms: number | null;
  refresh_on_read: boolean;
};

export function toSettings(config: unknown): StoreSettings {
  const { data } = Settings.safeParse(config ?? {});
  const default_ttl = data?.ttl?.default_ttl ?? null;
  return {
    is_indexed: Boolean(data?.index),
    default_ttl_ms: default_ttl === null ? null : default_ttl * MINUTE_MS,
    refresh_on_read: data?.ttl?.refresh_on_read ?? true,
  };
}

/**
 * Converts the time to live of a request. Without one the default of the agent applies.
 * @returns `null` for an item that does not expire
 */
export function toTtlMs(
  minutes: number | null | undefined,
  settings: StoreSettings,
): number | null {
  if (minutes === undefined) return settings.default_ttl_ms;
  return minutes === null ? null : minutes * MINUTE_MS;
}
