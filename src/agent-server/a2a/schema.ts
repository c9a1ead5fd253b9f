import { z } from "@hono/zod-openapi";
import { textField, Uuid } from "../../shared/schema.ts";
import { AgentPath } from "../threads/contract/requests/schema.ts";

/** Version of the card for a request whose header `A2A-Version` is absent, or does not begin with `1.`. */
export const DEFAULT_CARD_VERSION = "0.3.0";

export const VERSION_HEADER = "A2A-Version";

/** Error codes of A2A. The names are the reasons of A2A 1.0 in lower case. */
export const A2A_ERRORS = {
  task_not_found: -32001,
  task_not_cancelable: -32002,
  push_notification_not_supported: -32003,
  unsupported_operation: -32004,
  content_type_not_supported: -32005,
  version_not_supported: -32009,
} as const;

const Data = z.record(z.string(), z.unknown());

const Part = z.discriminatedUnion("kind", [
  z.looseObject({ kind: z.literal("text"), text: z.string() }),
  z.looseObject({ kind: z.literal("data"), data: Data }),
  z.looseObject({ kind: z.literal("file"), file: Data }),
]);
export type Part = z.infer<typeof Part>;

const MAX_PARTS = 100;

export const SendParams = z.looseObject({
  message: z.looseObject({
    role: z.enum(["user", "agent"]),
    messageId: z.string().min(1),
    parts: z.array(Part).min(1).max(MAX_PARTS),
    contextId: Uuid.optional(),
    taskId: Uuid.optional(),
  }),
  configuration: z
    .looseObject({
      blocking: z.boolean().optional(),
      historyLength: z.number().int().min(0).optional(),
      pushNotificationConfig: z.unknown().optional(),
    })
    .optional(),
  metadata: Data.optional(),
});
export type SendParams = z.infer<typeof SendParams>;

export const TaskParams = z.looseObject({
  id: Uuid,
  historyLength: z.number().int().min(0).optional(),
});

export const A2aPath = AgentPath.extend({
  assistant_id: z.string().min(1).describe("Id of the assistant, or the name of its graph"),
});

export const CardQuery = z.object({
  assistant_id: z
    .string()
    .min(1)
    .optional()
    .describe("Id of the assistant, or the name of its graph"),
});

const Interface = z.looseObject({
  url: textField(
    "URL that messages are sent to",
    "https://heddle.example.com/agents/support-agent/a2a/agent",
  ),
  protocolBinding: z.literal("JSONRPC").describe("Transport of the protocol"),
  protocolVersion: textField("Version of A2A", "1.0"),
});

/** A card of A2A 0.3 or 1.0. */
export const AgentCard = z
  .looseObject({
    supportedInterfaces: z.array(Interface).describe("Versions of A2A and their URLs"),
    protocolVersion: z
      .string()
      .optional()
      .openapi({ description: "Version of A2A; not in a card of 1.0", example: "0.3.0" }),
    name: textField("Name of the assistant", "support-agent"),
    description: textField("Description of the assistant", "Answers questions about orders."),
    url: z.string().optional().openapi({
      description: "URL that messages are sent to; not in a card of 1.0",
      example: "https://heddle.example.com/agents/support-agent/a2a/agent",
    }),
    preferredTransport: z
      .literal("JSONRPC")
      .optional()
      .describe("Transport of the protocol; not in a card of 1.0"),
    version: textField("Version of the assistant", "1"),
    capabilities: z
      .looseObject({ streaming: z.boolean().describe("Whether `message/stream` is supported") })
      .describe("Optional features"),
    defaultInputModes: z
      .array(z.string())
      .openapi({ description: "Media types of the input", example: ["text/plain"] }),
    defaultOutputModes: z
      .array(z.string())
      .openapi({ description: "Media types of the output", example: ["text/plain"] }),
    skills: z
      .array(
        z.looseObject({
          id: textField("Id of the skill", "agent"),
          name: textField("Name of the skill", "support-agent"),
        }),
      )
      .describe("Skills of the assistant"),
  })
  .openapi("AgentCard");
export type AgentCard = z.infer<typeof AgentCard>;
