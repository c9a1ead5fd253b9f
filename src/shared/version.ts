import { z } from "@hono/zod-openapi";

export const VERSION = "0.1.0";

export const Ok = z.object({ ok: z.literal(true) }).openapi("Ok");

export const Info = z
  .object({
    version: z.string(),
    context: z.literal("js"),
    flags: z.record(z.string(), z.boolean()),
  })
  .openapi("Info");

/** What published clients look at before they use a feature. */
export const SERVICE_INFO = {
  version: VERSION,
  context: "js" as const,
  flags: {
    assistants: true,
    crons: false,
    langsmith: false,
    langsmith_tracing_replicas: false,
  },
};
