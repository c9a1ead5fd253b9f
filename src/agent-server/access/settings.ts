import { z } from "zod";

/** `auth` of langgraph.json as far as the Worker needs it; the builder has looked at all of it. */
const Auth = z.object({ path: z.string().min(1), disable_studio_auth: z.boolean().nullish() });

export type AuthSettings = { allows_studio: boolean };

type Config = Record<string, unknown> | null;

/** Null: the agent leaves it to the workspace who may call it. */
export function authSettings(config: Config): AuthSettings | null {
  const { data } = Auth.safeParse(config?.auth);
  return data ? { allows_studio: data.disable_studio_auth !== true } : null;
}
