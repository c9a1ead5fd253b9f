import { z } from "@hono/zod-openapi";
import { caseless, PageQuery, QueryBoolean, Uuid } from "../../../shared/schema.ts";
import { DEPLOYMENT_STATUSES, MAX_NAME_CHARACTERS, REVISION_STATUSES } from "../schema.ts";
import { DEPLOYMENT_TYPES } from "../source-schema.ts";

/** Filters of lists. Some concern features that Heddle does not have, and match nothing. */

const MAX_IDS = 100;

const Reconciled = QueryBoolean.optional().describe(
  "Whether the build has ended. For deployments, that of the latest revision",
);

export const DeploymentsQuery = PageQuery.extend({
  name: z.string().max(MAX_NAME_CHARACTERS).optional().describe("Name of the deployment"),
  name_contains: z
    .string()
    .max(MAX_NAME_CHARACTERS)
    .optional()
    .describe("Part of the name, case-insensitive"),
  status: caseless(DEPLOYMENT_STATUSES)
    .optional()
    .describe("Status of the deployments, case-insensitive"),
  deployment_type: z.enum(DEPLOYMENT_TYPES).optional().describe("Type of the deployments"),
  deployment_ids: csv(Uuid, "Ids, separated by commas").optional(),
  remote_reconciled: Reconciled,
  tag_value_ids: csv(
    Uuid,
    "Ids, separated by commas. Deployments have no tags: no deployment matches",
  ).optional(),
  agent_id: z.string().optional().describe("Deployments have no such id: no deployment matches"),
  agent_environment: z
    .string()
    .optional()
    .describe("Deployments have no environment: no deployment matches"),
  image_version: z.string().optional().describe("Deployments have no image: no deployment matches"),
});
export type DeploymentsQuery = z.infer<typeof DeploymentsQuery>;

export const RevisionsQuery = PageQuery.extend({
  status: csv(
    caseless(REVISION_STATUSES),
    "Statuses, case-insensitive, separated by commas",
  ).optional(),
  include_previews: QueryBoolean.default(false).describe("Whether to list preview revisions too"),
  remote_reconciled: Reconciled,
});
export type RevisionsQuery = z.infer<typeof RevisionsQuery>;

/** Accepts repeated parameters, which published clients send, and commas. */
export const DeploymentIdsQuery = z.object({
  deployment_ids: z
    .union([z.string(), z.array(z.string())])
    .transform((value) => [value].flat().flatMap(split))
    .pipe(z.array(Uuid).min(1).max(MAX_IDS))
    .transform((ids) => [...new Set(ids)])
    .openapi({
      type: "array",
      items: { type: "string", format: "uuid" },
      maxItems: MAX_IDS,
      description: "Ids of the deployments, repeated or separated by commas",
    }),
});

function csv<T extends z.ZodType>(item: T, description: string) {
  return z
    .string()
    .transform((text): unknown => split(text))
    .pipe(z.array(item).max(MAX_IDS))
    .openapi({ type: "string", description });
}

function split(text: string): string[] {
  return text.split(",").map((part) => part.trim());
}
