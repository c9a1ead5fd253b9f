import { z } from "@hono/zod-openapi";
import { namedObject, Timestamp, Uuid } from "../../shared/schema.ts";
import { TraceTier } from "./schema.ts";

const DefaultTier = TraceTier.openapi({
  description: "Retention tier of the traces of projects that have none",
  example: "shortlived",
});

export const TtlSettingsChange = namedObject("UpsertTTLSettingsRequest", {
  tenant_id: Uuid.nullish().describe("Id of the workspace. If given, it must be that of the key"),
  default_trace_tier: DefaultTier,
  apply_to_all_projects: z
    .boolean()
    .nullish()
    .transform((all) => all ?? false)
    .describe("Whether to set the tier of all existing projects too, in place of their own"),
});
export type TtlSettingsChange = z.infer<typeof TtlSettingsChange>;

const days = (tier: string, example: number) =>
  z.union([z.int(), z.null()]).openapi({
    description: `Days after which the installation deletes ${tier} traces, \`null\` for never`,
    example,
  });

export const TtlSettings = namedObject("TTLSettings", {
  id: Uuid.describe("Id of the settings: the workspace's"),
  tenant_id: Uuid.describe("Id of the workspace"),
  organization_id: Uuid.describe("Id of the workspace's organization"),
  default_trace_tier: DefaultTier,
  apply_to_all_projects: z
    .boolean()
    .describe("Whether the last change set the tier of all projects, too"),
  configured_by: z
    .enum(["system", "user"])
    .describe("`system`: the installation's tier, until an admin sets one"),
  shortlived_days: days("short-lived", 14),
  longlived_days: days("long-lived", 400),
  created_at: Timestamp.describe("Time of the first change"),
  updated_at: Timestamp.describe("Time of the last change"),
});
export type TtlSettings = z.infer<typeof TtlSettings>;
