import { z } from "zod";

/** Fields of `auth` in langgraph.json that the Worker uses. The builder validates all of it. */
const Auth = z.object({ path: z.string().min(1), disable_studio_auth: z.boolean().nullish() });

export type AuthSettings = { allows_studio: boolean };

type Config = Record<string, unknown> | null;

/** @returns `null` when the workspace authenticates callers */
export function authSettings(config: Config): AuthSettings | null {
  const { data } = Auth.safeParse(config?.auth);
  return data ? { allows_studio: data.disable_studio_auth !== true } : null;
}
