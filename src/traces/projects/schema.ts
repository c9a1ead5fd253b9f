import { z } from "@hono/zod-openapi";
import { RE2JS } from "re2js";
import { isRecord } from "../../shared/guards.ts";
import { isShallow } from "../../shared/http/depth.ts";
import {
  namedObject,
  QueryBoolean,
  queryLimit,
  Timestamp,
  textField,
  Uuid,
} from "../../shared/schema.ts";
import { TraceStats } from "../stats/trace-stats-schema.ts";

const MAX_LIMIT = 100;

const Extra = z.record(z.string(), z.unknown());
export const TraceTier = z.enum(["longlived", "shortlived"]);
const MAX_METADATA_CHARACTERS = 10_000;
const MetadataText = z
  .string()
  .max(MAX_METADATA_CHARACTERS)
  .transform((text, context) => {
    const metadata = parseObject(text);
    if (metadata !== null) return metadata;
    context.addIssue("must be the JSON text of an object");
    return z.NEVER;
  })
  .openapi({ type: "string", example: '{"env":"test"}' });
const SamplingRate = z.number().min(0).max(1);
const MAX_PATTERNS = 10;
const MAX_PATTERN_CHARACTERS = 200;
const Pattern = z
  .string()
  .min(1)
  .max(MAX_PATTERN_CHARACTERS)
  .superRefine((pattern, context) => {
    const problem = patternProblem(pattern);
    if (problem !== null) context.addIssue(problem);
  });
/** Limit of the instructions of all patterns: each character may run all. `{3,60}` takes one for each count. */
const MAX_STEPS = 500;
const Patterns = z
  .array(Pattern)
  .max(MAX_PATTERNS)
  .superRefine((patterns, context) => {
    const steps = patterns.reduce((sum, pattern) => sum + stepsOf(pattern), 0);
    if (steps <= MAX_STEPS) return;
    context.addIssue(
      `have ${steps} steps together: at most ${MAX_STEPS}; use fewer counted repetitions, for example + instead of {3,60}`,
    );
  });
const Redactions = z
  .object({
    emails: z.boolean().default(false).describe("Whether e-mail addresses are replaced"),
    keys: z
      .boolean()
      .default(false)
      .describe("Whether API keys and tokens of known forms are replaced"),
    patterns: Patterns.default([]).openapi({
      description: "Expressions of RE2 whose matches are replaced",
      example: ["\\bAT\\d{18}\\b"],
    }),
  })
  .openapi("TraceRedactions");
const Name = z.string().trim().min(1).max(255);

export const ProjectCreateRequest = namedObject("TracerSessionCreate", {
  id: Uuid.nullish().describe("Id of the project. Default: a new id"),
  name: Name.nullish()
    .transform((name) => name ?? "default")
    .openapi({
      description: "Name of the project, unique in the workspace. Default: `default`",
      example: "support-agent",
    }),
  description: z.string().max(10_000).nullish().describe("Description of the project"),
  extra: Extra.nullish().describe("Metadata of the project"),
  start_time: z.iso
    .datetime({ offset: true, local: true })
    .nullish()
    .describe("Time from which the project is used"),
  end_time: z.iso
    .datetime({ offset: true, local: true })
    .nullish()
    .describe("Time until which the project is used"),
  default_dataset_id: Uuid.nullish().describe(
    "Id of a dataset. Stored and returned, without effect",
  ),
  reference_dataset_id: Uuid.nullish().describe(
    "Id of a dataset. Stored and returned, without effect",
  ),
  trace_tier: TraceTier.nullish().describe("Retention tier of the traces"),
  sampling_rate: SamplingRate.nullish().describe("Part of the traces that is stored. Default: all"),
});
export type ProjectCreateRequest = z.infer<typeof ProjectCreateRequest>;

export const ProjectUpdateRequest = namedObject("TracerSessionUpdate", {
  name: Name.nullish().openapi({
    description: "Name of the project, unique in the workspace. `null` keeps it",
    example: "support-agent",
  }),
  description: z.string().max(10_000).nullable().optional().describe("Description of the project"),
  extra: Extra.nullable().optional().describe("Metadata of the project"),
  end_time: z.iso
    .datetime({ offset: true, local: true })
    .nullable()
    .optional()
    .describe("Time until which the project is used"),
  default_dataset_id: Uuid.nullable()
    .optional()
    .describe("Id of a dataset. Stored and returned, without effect"),
  trace_tier: z.union([TraceTier, z.null()]).optional().openapi({
    description: "Retention tier of new traces. `null` returns to the tier of the workspace",
    example: "shortlived",
  }),
  sampling_rate: SamplingRate.nullable().optional().openapi({
    description: "Part of the new traces that is stored, from 0 to 1. `null` stores all",
    example: 0.1,
  }),
  redactions: Redactions.nullable()
    .optional()
    .describe("Texts that new runs do not keep. `null` keeps all"),
  legal_hold: z
    .boolean()
    .nullish()
    .describe("Whether no trace of the project expires or is deleted. Set by admins"),
});
export type ProjectUpdateRequest = z.infer<typeof ProjectUpdateRequest>;

export const ProjectsQuery = z.strictObject({
  id: z
    .union([Uuid.transform((id) => [id]), z.array(Uuid).max(100)])
    .optional()
    .describe("Ids of projects"),
  name: z.string().optional().describe("Name of the project"),
  name_contains: z.string().max(255).optional().describe("Part of the name"),
  metadata: MetadataText.optional().describe("JSON of metadata that the projects have"),
  reference_dataset: Uuid.optional().describe("Id of the dataset of the projects"),
  reference_free: QueryBoolean.optional().describe(
    "`true` returns only projects without a dataset",
  ),
  include_stats: QueryBoolean.default(false).describe(
    "Whether to return statistics: of all traces of one project, or since the UTC day a week ago of several",
  ),
  stats_start_time: z.iso
    .datetime({ offset: true, local: true })
    .optional()
    .describe("Start of the time that statistics count, rounded down to its UTC day"),
  limit: queryLimit("projects", MAX_LIMIT, MAX_LIMIT),
  offset: z.coerce.number().int().min(0).default(0).describe("Number of projects to skip"),
});
export type ProjectsQuery = z.infer<typeof ProjectsQuery>;

/** Ignores other parameters: clients send those of the list too. */
export const ProjectQuery = z.object({
  include_stats: ProjectsQuery.shape.include_stats,
  stats_start_time: ProjectsQuery.shape.stats_start_time,
});
export type ProjectQuery = z.infer<typeof ProjectQuery>;

/** Makes all fields nullable, and `null` by default. */
function nullable<S extends z.ZodRawShape>(shape: S) {
  const fields = Object.entries(shape).map(([name, type]) => [
    name,
    z.nullable(type).default(null),
  ]);
  return Object.fromEntries(fields) as { [K in keyof S]: z.ZodDefault<z.ZodNullable<S[K]>> };
}

/** @returns the reason why an expression cannot be used, `null` when it can */
function patternProblem(pattern: string): string | null {
  try {
    const expression = RE2JS.compile(pattern);
    // Texts in which expressions such as `a*` and `\b` find an empty match.
    const isEmpty = ["", "a", "0 -"].some((text) => {
      const matcher = expression.matcher(text);
      return matcher.find() && matcher.start() === matcher.end();
    });
    return isEmpty ? "must not match an empty text" : null;
  } catch (error) {
    return `must be an expression of RE2: ${(error as Error).message}`;
  }
}

/** @returns 0 for an invalid expression, which is refused by itself */
function stepsOf(pattern: string): number {
  return patternProblem(pattern) === null ? RE2JS.compile(pattern).programSize() : 0;
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && isShallow(value) ? value : null;
  } catch {
    return null;
  }
}

export const Project = z
  .object({
    id: Uuid.describe("Id of the project"),
    tenant_id: Uuid.describe("Id of the workspace"),
    name: textField("Name of the project, unique in the workspace", "support-agent"),
    description: z.string().nullable().describe("Description of the project"),
    extra: Extra.nullable().describe("Metadata of the project"),
    start_time: Timestamp.describe("Time from which the project is used"),
    end_time: Timestamp.nullable().describe("Time until which the project is used"),
    default_dataset_id: Uuid.nullable().describe(
      "Id of a dataset. Stored and returned, without effect",
    ),
    reference_dataset_id: Uuid.nullable().describe(
      "Id of a dataset. Stored and returned, without effect",
    ),
    trace_tier: TraceTier.nullable().describe("Retention tier of the traces"),
    sampling_rate: z
      .number()
      .nullable()
      .describe("Part of the new traces that is stored, `null` for all"),
    redactions: Redactions.nullable().describe("Texts that new runs do not keep"),
    legal_hold: z.boolean().describe("Whether no trace of the project expires or is deleted"),
    last_run_start_time: Timestamp.nullable().describe(
      "Start time of the newest trace, `null` when there is none",
    ),
    run_count: z.number().int().describe("Number of traces, which is updated within seconds"),
  })
  .extend(nullable(TraceStats.omit({ run_count: true, last_run_start_time: true }).shape))
  .openapi("TracerSession");
export type Project = z.infer<typeof Project>;
