import { z } from "@hono/zod-openapi";
import {
  AnyObject,
  namedObject,
  queryLimit,
  Timestamp,
  textField,
} from "../../../../shared/schema.ts";
import { Interrupt } from "../../contract/requests/schema.ts";

export const MAX_INTERRUPT_CHARS = 50_000;
const ID = "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071";

export const InterruptsQuery = z.strictObject({
  limit: queryLimit("threads", 50, 25),
  cursor: z.string().max(1000).optional().describe("Cursor of the page"),
});
export type InterruptsQuery = z.infer<typeof InterruptsQuery>;

const WaitingThread = z.object({
  deployment_id: textField("Id of the deployment", ID),
  thread_id: textField("Id of the thread", ID),
  metadata: AnyObject.describe("Metadata of the thread"),
  interrupts: z
    .record(z.string(), z.array(Interrupt))
    .nullable()
    .openapi({
      description: `Pending interrupts by task, \`null\` when they have more than ${MAX_INTERRUPT_CHARS} characters`,
      example: { "task-id": [{ id: "interrupt-id", value: { action: "refund_order" } }] },
    }),
  waiting_since: Timestamp.describe(
    "Time at which the thread was interrupted, or of a later update of its state",
  ),
});

export const WaitingThreads = namedObject("WaitingThreads", {
  threads: z
    .array(WaitingThread)
    .describe("Threads that wait for a person, the longest wait first"),
  total: z
    .number()
    .int()
    .describe(
      "Number of threads that wait for a person, on all pages: in the newest 500 deployments of the workspace, without the withheld ones",
    ),
  next_cursor: z.string().nullable().describe("Cursor of the next page, `null` on the last"),
  withheld_deployments: z.array(z.string()).openapi({
    description:
      "Ids of deployments whose waiting threads are not listed, because the agent authenticates its own users or serves nothing",
    example: [],
  }),
});
export type WaitingThreads = z.infer<typeof WaitingThreads>;
