import { z } from "@hono/zod-openapi";
import { namedObject, QueryBoolean, textField } from "../schema.ts";

export const VERSION = "0.1.0";

export const OkQuery = z.object({
  check_db: QueryBoolean.default(false).describe("Whether to check the database too"),
});
export const Ok = namedObject("Ok", { ok: z.literal(true).describe("Always `true`") });

export const Info = namedObject("Info", {
  version: textField("Version of the API", "0.18.0"),
  context: z.literal("js").describe("Language of the agents"),
  flags: z.record(z.string(), z.boolean()).openapi({
    description: "Features that are available",
    example: { assistants: true, crons: true },
  }),
});

/** Version that clients compare: `export_fields` needs 0.12.42, the SDK for JavaScript warns below 0.18.0. */
const API_VERSION = "0.18.0";

/** Feature flags that published clients read. */
export const SERVICE_INFO = {
  version: API_VERSION,
  context: "js" as const,
  flags: {
    assistants: true,
    crons: true,
    langsmith: false,
    langsmith_tracing_replicas: false,
    stream_namespaces: true,
    strict_resume: true,
    v2_streaming: true,
  },
};
