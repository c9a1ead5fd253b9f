import { z } from "@hono/zod-openapi";
import { AnyUuid, namedObject, textField } from "../../shared/schema.ts";

const ID = "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071";

export const LookupPath = z.object({
  resource_id: AnyUuid.describe("Id of anything in the workspace"),
});

const KINDS = ["deployment", "revision", "thread", "traced_run", "bulk_export"] as const;

const Match = namedObject("LookupMatch", {
  kind: z
    .enum(KINDS)
    .describe("What has the id: `traced_run` is a run of a trace, and its root has the trace's id"),
  id: textField("The id", ID),
  deployment_id: z.string().nullable().openapi({
    description: "Id of the deployment, `null` for `traced_run` and `bulk_export`",
    example: ID,
  }),
  trace_id: z.string().nullable().openapi({
    description: "Id of the trace of a `traced_run`, `null` for other kinds",
    example: null,
  }),
});
export type LookupMatch = z.infer<typeof Match>;

export const Lookup = namedObject("Lookup", {
  matches: z
    .array(Match)
    .describe("What has the id, empty when nothing has. Clients may give one id to several things"),
});
export type Lookup = z.infer<typeof Lookup>;
