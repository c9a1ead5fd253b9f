import { z } from "@hono/zod-openapi";
import { QueryBoolean, Timestamp, Uuid } from "../shared/schema.ts";
import { TraceStats } from "./stats-schema.ts";

const MAX_LIMIT = 100;

const Extra = z.record(z.string(), z.unknown());
const TraceTier = z.enum(["longlived", "shortlived"]);
const Name = z.string().trim().min(1).max(255);

export const ProjectCreateRequest = z
  .object({
    id: Uuid.nullish(),
    name: Name.nullish().transform((name) => name ?? "default"),
    description: z.string().max(10_000).nullish(),
    extra: Extra.nullish(),
    start_time: z.iso.datetime({ offset: true, local: true }).nullish(),
    end_time: z.iso.datetime({ offset: true, local: true }).nullish(),
    default_dataset_id: Uuid.nullish(),
    reference_dataset_id: Uuid.nullish(),
    trace_tier: TraceTier.nullish(),
  })
  .openapi("TracerSessionCreate");
export type ProjectCreateRequest = z.infer<typeof ProjectCreateRequest>;

export const ProjectUpdateRequest = z
  .object({
    name: Name.optional(),
    description: z.string().max(10_000).nullable().optional(),
    extra: Extra.nullable().optional(),
    end_time: z.iso.datetime({ offset: true, local: true }).nullable().optional(),
    default_dataset_id: Uuid.nullable().optional(),
    trace_tier: TraceTier.nullable().optional(),
  })
  .openapi("TracerSessionUpdate");
export type ProjectUpdateRequest = z.infer<typeof ProjectUpdateRequest>;

export const ProjectsQuery = z.object({
  id: z.union([Uuid.transform((id) => [id]), z.array(Uuid).max(100)]).optional(),
  name: z.string().optional(),
  name_contains: z.string().max(255).optional(),
  include_stats: QueryBoolean.default(false).openapi({
    description:
      "Of one project all its traces; of several those of seven days, or since stats_start_time",
  }),
  stats_start_time: z.iso.datetime({ offset: true, local: true }).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(MAX_LIMIT),
  offset: z.coerce.number().int().min(0).default(0),
});
export type ProjectsQuery = z.infer<typeof ProjectsQuery>;

export const ProjectQuery = ProjectsQuery.pick({ include_stats: true, stats_start_time: true });
export type ProjectQuery = z.infer<typeof ProjectQuery>;

/** Null unless asked for. */
function nullable<S extends z.ZodRawShape>(shape: S) {
  const fields = Object.entries(shape).map(([name, type]) => [
    name,
    z.nullable(type).default(null),
  ]);
  return Object.fromEntries(fields) as { [K in keyof S]: z.ZodDefault<z.ZodNullable<S[K]>> };
}

export const Project = z
  .object({
    id: Uuid,
    tenant_id: Uuid,
    name: z.string(),
    description: z.string().nullable(),
    extra: Extra.nullable(),
    start_time: Timestamp,
    end_time: Timestamp.nullable(),
    default_dataset_id: Uuid.nullable(),
    reference_dataset_id: Uuid.nullable(),
    trace_tier: TraceTier.nullable(),
    last_run_start_time: Timestamp.nullable(),
    run_count: z
      .number()
      .int()
      .openapi({ description: "How many traces; follows them by about a second" }),
  })
  .extend(nullable(TraceStats.omit({ run_count: true, last_run_start_time: true }).shape))
  .openapi("TracerSession");
export type Project = z.infer<typeof Project>;
