import { z } from "@hono/zod-openapi";
import { isShallow, MAX_DEPTH } from "../../../../shared/http/depth.ts";
import {
  AnyObject,
  CreatedAt,
  list,
  namedObject,
  Timestamp,
  textField,
  UpdatedAt,
  Uuid,
} from "../../../../shared/schema.ts";

export const ThreadId = Uuid.describe("Id of the thread");
export const RunId = Uuid.describe("Id of the run");

// Metadata is a part of a row of the thread and of a row of the directory. SQLite rows are limited to 2 MB.
const MAX_OBJECT_CHARACTERS = 128 * 1024;

export function isSmallJson(value: unknown): boolean {
  return isShallow(value) && JSON.stringify(value).length <= MAX_OBJECT_CHARACTERS;
}

export const TOO_LARGE_JSON = `must be at most ${MAX_OBJECT_CHARACTERS} characters of JSON, nested at most ${MAX_DEPTH} deep`;
const METADATA = { description: "Metadata", example: { customer: "acme" } };
export const StoredMetadata = AnyObject.openapi(METADATA);
export const Metadata = AnyObject.refine(isSmallJson, TOO_LARGE_JSON).openapi(METADATA);

export const THREAD_STATUSES = ["idle", "busy", "interrupted", "error"] as const;
export const ThreadStatus = z.enum(THREAD_STATUSES);

export const Interrupt = z.looseObject({
  id: z.string().optional().describe("Id of the interrupt"),
  value: z
    .unknown()
    .optional()
    .describe("Value that the graph passed to `interrupt()`, absent when it passed none"),
});

export const Thread = namedObject("Thread", {
  thread_id: ThreadId,
  created_at: CreatedAt,
  updated_at: UpdatedAt,
  state_updated_at: Timestamp.nullable().describe(
    "Time at which the latest values were stored, `null` when there are none",
  ),
  metadata: StoredMetadata,
  status: ThreadStatus.describe("Status of the thread"),
  config: AnyObject.describe("Configuration of the latest run"),
  values: z.unknown().describe("Latest values of the state"),
  interrupts: z.record(z.string(), z.array(Interrupt)).describe("Pending interrupts by task"),
  error: z
    .object({
      error: textField("Name of the error", "TypeError"),
      message: textField("Message of the error", "fetch failed"),
    })
    .nullable()
    .describe("Error of the latest run, `null` when it did not fail"),
});
export type Thread = z.infer<typeof Thread>;

const Send = z.object({
  node: textField("Name of the node", "agent"),
  input: z.unknown().describe("Input of the node"),
});
const Goto = z.union([z.string(), Send]);

export const Command = namedObject("Command", {
  resume: z.unknown().optional().describe("Value that resumes the pending interrupt"),
  update: z
    .union([AnyObject, list(z.tuple([z.string(), z.unknown()]))])
    .nullish()
    .transform((update) => update ?? null)
    .describe("Update of the state"),
  goto: z
    .union([Goto, list(Goto)])
    .nullish()
    .describe("Nodes to continue with"),
});

export const RunConfig = z
  .looseObject({
    tags: list(z.string()).optional().describe("Tags of the run"),
    recursion_limit: z.number().int().min(1).optional().describe("Maximum number of steps"),
    configurable: AnyObject.optional().describe("Configurable fields of the graph"),
    metadata: AnyObject.optional().describe("Metadata of the run's trace"),
  })
  .refine(isSmallJson, TOO_LARGE_JSON)
  .openapi("RunConfig");

export const AgentPath = z.object({
  deployment_id: z
    .string()
    .min(1)
    .toLowerCase()
    .describe("Id or name of the deployment, with `@<revision id>` for one revision"),
});
export const ThreadPath = AgentPath.extend({ thread_id: ThreadId });
export const RunPath = ThreadPath.extend({ run_id: RunId });
export const ThreadlessRunPath = AgentPath.extend({ run_id: RunId });
