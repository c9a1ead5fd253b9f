import { z } from "@hono/zod-openapi";
import { MultitaskStrategy } from "../contract/requests/run-schema.ts";
import { CHANNELS } from "./event.ts";
import { MAX_CHANNELS, MAX_NAMESPACE_DEPTH, MAX_NAMESPACES } from "./limits.ts";

const Params = z.record(z.string(), z.unknown());

export const Command = z
  .looseObject({
    id: z.number().int().min(0).describe("Id that the response repeats"),
    method: z
      .string()
      .max(100)
      .openapi({ description: "Name of the command", example: "run.start" }),
    params: Params.nullish().openapi({
      description: "Parameters of the command",
      example: { assistant_id: "agent", input: { messages: [] } },
    }),
  })
  .openapi("ThreadCommand");
export type Command = z.infer<typeof Command>;

export const CommandAnswer = z
  .looseObject({
    type: z.enum(["success", "error"]).describe("Whether the command succeeded"),
    id: z.number().int().nullable().describe("Id of the command, `null` when it has none"),
    result: Params.optional().describe("Result of the command"),
    error: z.string().optional().describe("Error code"),
    message: z.string().optional().describe("What is wrong and how to correct it"),
    meta: Params.optional().describe(
      "`applied_through_seq`: sequence number of the last event before those that the command causes",
    ),
  })
  .openapi("ThreadCommandAnswer");
export type CommandAnswer = z.infer<typeof CommandAnswer>;

const Name = z
  .string()
  .max(256)
  .refine(isChannel, `must be one of ${CHANNELS.join(", ")}, or custom:<name>`);

export const Namespace = z.array(z.string().max(512)).max(MAX_NAMESPACE_DEPTH);

const filter = {
  channels: z
    .array(Name)
    .max(MAX_CHANNELS)
    .openapi({ description: "Channels to subscribe to", example: ["values", "messages"] }),
  namespaces: z
    .array(Namespace)
    .max(MAX_NAMESPACES)
    .nullish()
    .describe("Namespaces to subscribe to. Default: all"),
  depth: z
    .number()
    .int()
    .min(0)
    .nullish()
    .describe("Number of subgraph levels below the namespaces. Default: all"),
  since: z.number().int().min(0).nullish().describe("Sequence number of the last event received"),
};

/** Strict: an unknown field could be a misspelled filter. */
export const EventStreamRequest = z.strictObject(filter).openapi("EventStreamRequest");

export const EventStreamHeaders = z.object({
  "last-event-id": z
    .string()
    .regex(/^\d*$/, "must be the id of an event")
    .optional()
    .describe("Id of the last event received"),
});

export const Subscribe = z.strictObject(filter);
export const Unsubscribe = z.looseObject({ subscription_id: z.string() });

export const RunStart = z.looseObject({
  assistant_id: z.string().min(1),
  input: z.unknown().optional(),
  context: z.unknown().optional(),
  config: Params.nullish(),
  metadata: Params.nullish(),
  multitaskStrategy: MultitaskStrategy.nullish(),
  multitask_strategy: MultitaskStrategy.nullish(),
  langsmith_tracer: z.unknown().optional(),
});

const Answered = z.looseObject({ interrupt_id: z.string().min(1), response: z.unknown() });

export const InputRespond = z.looseObject({
  interrupt_id: z.string().min(1).nullish(),
  response: z.unknown().optional(),
  responses: z.array(Answered).min(1, "must have at least one response").max(1000).nullish(),
  update: z.unknown().optional(),
  goto: z.unknown().optional(),
  config: Params.nullish(),
  metadata: Params.nullish(),
  strict_resume: z.boolean().nullish(),
});
export type InputRespond = z.infer<typeof InputRespond>;

export const GetTree = z.looseObject({ run_id: z.string().nullish() });

export const StateGet = z.looseObject({
  namespace: Namespace.nullish(),
  keys: z.array(z.string()).nullish(),
});

function isChannel(name: string): boolean {
  return CHANNELS.some((channel) => channel === name) || /^custom:./.test(name);
}
