import { z } from "@hono/zod-openapi";
import { namedObject, textField } from "../../shared/schema.ts";
import { toMicros } from "../../shared/times.ts";
import { parseDottedOrder } from "../dotted-order.ts";
import {
  MAX_DOTTED_ORDER,
  MAX_NAME_CHARS,
  MAX_PROJECT_NAME_CHARS,
  MAX_TAG_CHARS,
  MAX_TAGS,
} from "../limits.ts";

export const RUN_TYPES = [
  "tool",
  "chain",
  "llm",
  "retriever",
  "embedding",
  "prompt",
  "parser",
] as const;

const Id = z.guid("must be a UUID").transform((id) => id.toLowerCase());

const Moment = z
  .union([z.string(), z.number()], {
    error: "must be an ISO 8601 time, or milliseconds since 1970",
  })
  .transform((value, ctx) => {
    const micros = toMicros(value);
    if (micros !== null) return micros;
    ctx.addIssue("must be an ISO 8601 time, or milliseconds since 1970");
    return z.NEVER;
  });

const DottedOrder = z
  .string()
  .max(MAX_DOTTED_ORDER)
  .refine((text) => parseDottedOrder(text) !== null, {
    error:
      "must be segments YYYYMMDDTHHMMSSffffffZ<run id> from the root to the run, with dots between",
  });

/** Cuts a text. A cut may halve a surrogate pair, so it makes the result well-formed. */
export function cutText(text: string, max_chars: number): string {
  return text.length > max_chars ? text.slice(0, max_chars).toWellFormed() : text;
}

/** Cuts a longer text instead of refusing its run. */
function truncatedText(max_chars: number) {
  return z.string().transform((text) => cutText(text, max_chars));
}

/** @returns `null` for an integer that a double cannot hold exactly: answers have none */
function toInteger(value: number): number | null {
  const whole = Math.trunc(value);
  return Number.isSafeInteger(whole) ? whole : null;
}

/** Fields that place a run in its trace and project. */
export const RunPlacement = z.object({
  id: Id.nullish(),
  trace_id: Id.nullish(),
  parent_run_id: Id.nullish(),
  dotted_order: DottedOrder.nullish(),
  session_name: truncatedText(MAX_PROJECT_NAME_CHARS).nullish(),
});

/** Run as SDKs send it. Missing and `null` fields change nothing. */
export const IngestRun = z.looseObject({
  ...RunPlacement.shape,
  name: truncatedText(MAX_NAME_CHARS).nullish(),
  run_type: z.enum(RUN_TYPES).nullish(),
  start_time: Moment.nullish(),
  end_time: Moment.nullish(),
  inputs: z.unknown().optional(),
  outputs: z.unknown().optional(),
  error: z.unknown().optional(),
  extra: z.unknown().optional(),
  events: z.unknown().optional(),
  serialized: z.unknown().optional(),
  tags: z
    .array(truncatedText(MAX_TAG_CHARS))
    .transform((tags) => tags.slice(0, MAX_TAGS))
    .nullish(),
  session_id: Id.nullish(),
  reference_example_id: Id.nullish(),
  trace_tier: z.enum(["longlived", "shortlived"]).nullish(),
  execution_order: z.number().transform(toInteger).nullish(),
});
export type IngestRun = z.infer<typeof IngestRun>;

export const RunsAccepted = namedObject("RunsAccepted", {
  message: textField("Confirmation", "Runs batch ingested"),
});

export const IngestError = namedObject("IngestError", {
  error: textField(
    "What is wrong and how to correct it",
    "body.run_type: must be one of tool, chain, llm",
  ),
  details: z.unknown().describe("Invalid fields, `null` when none is to blame"),
});

const uuid = { type: "string", format: "uuid" } as const;
const time = { type: "string", format: "date-time" } as const;
const run = {
  type: "object",
  properties: {
    id: { ...uuid, description: "Id of the run" },
    trace_id: { ...uuid, description: "Id of the trace: the id of its root run" },
    dotted_order: { type: "string", description: "Start times and ids from the root to the run" },
    parent_run_id: { ...uuid, description: "Id of the parent run. Root runs have none" },
    name: { type: "string", description: "Name of the run", example: "agent" },
    run_type: {
      type: "string",
      enum: RUN_TYPES.slice(),
      description: "Type of the run",
      example: "chain",
    },
    start_time: { ...time, description: "Time at which it started" },
    end_time: { ...time, description: "Time at which it ended" },
    inputs: { type: "object", description: "Inputs", example: { question: "Hello" } },
    outputs: { type: "object", description: "Outputs" },
    error: { type: "string", description: "Error" },
    extra: { type: "object", description: "Metadata, runtime and other details" },
    events: { type: "array", items: { type: "object" }, description: "Events of the run" },
    tags: { type: "array", items: { type: "string" }, description: "Tags" },
    session_id: { ...uuid, description: "Id of the project" },
    session_name: { type: "string", description: "Name of the project, created when missing" },
  },
} as const;

const runs = { type: "array", items: run } as const;

/** Bodies for OpenAPI only: handlers read them with `body.ts`, because they may be compressed. */
export const RUN_BODY = { content: { "application/json": { schema: run } }, required: true };
export const BATCH_BODY = {
  content: {
    "application/json": {
      schema: {
        type: "object",
        properties: {
          post: { ...runs, description: "New runs" },
          patch: { ...runs, description: "Changes to runs" },
        },
      },
    },
  },
  required: true,
} as const;
export const MULTIPART_BODY = {
  content: {
    "multipart/form-data": {
      schema: {
        type: "object",
        description:
          "Parts: `post.<run id>`, `patch.<run id>`, and both with `.inputs`, `.outputs`, `.events`, `.extra`, `.error` or `.serialized`; `feedback.<id>`; `attachment.<run id>.<name>`",
      },
    },
  },
  required: true,
} as const;
