import { z } from "@hono/zod-openapi";
import { PageQuery, QueryBoolean, Uuid } from "../shared/schema.ts";
import { DEPLOYMENT_TYPES, DeploymentStatus, RevisionStatus } from "./schema.ts";

/** What lists may be asked for. Some filters are about things that Heddle has not: nothing matches them. */

const MAX_IDS = 100;

const Reconciled = QueryBoolean.optional().openapi({
  description: "Whether what was asked for has been done: false while a revision builds.",
});

export const DeploymentsQuery = PageQuery.extend({
  name_contains: z.string().max(63).optional(),
  status: DeploymentStatus.optional(),
  deployment_type: z.enum(DEPLOYMENT_TYPES).optional(),
  deployment_ids: csv(Uuid, "Comma-separated ids.").optional(),
  remote_reconciled: Reconciled,
  tag_value_ids: csv(
    Uuid,
    "Comma-separated ids. Deployments have no tags: none matches.",
  ).optional(),
  image_version: z
    .string()
    .optional()
    .openapi({ description: "Deployments have no image: none matches." }),
});
export type DeploymentsQuery = z.infer<typeof DeploymentsQuery>;

export const RevisionsQuery = PageQuery.extend({
  status: csv(RevisionStatus, "Comma-separated statuses.").optional(),
  include_previews: QueryBoolean.default(false),
  remote_reconciled: Reconciled,
});
export type RevisionsQuery = z.infer<typeof RevisionsQuery>;

/** Published clients repeat the name; a comma does as well. */
export const DeploymentIdsQuery = z.object({
  deployment_ids: z
    .union([z.string(), z.array(z.string())])
    .transform((value) => [value].flat().flatMap(split))
    .pipe(z.array(Uuid).min(1).max(MAX_IDS))
    .transform((ids) => [...new Set(ids)])
    .openapi({ type: "array", items: { type: "string", format: "uuid" }, maxItems: MAX_IDS }),
});

function csv<T extends z.ZodType<unknown, string>>(item: T, description: string) {
  return z
    .string()
    .transform(split)
    .pipe(z.array(item).max(MAX_IDS))
    .openapi({ type: "string", description });
}

function split(text: string): string[] {
  return text.split(",").map((part) => part.trim());
}
