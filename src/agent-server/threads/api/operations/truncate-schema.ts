import { z } from "@hono/zod-openapi";

/** Data of a deployment to delete. Runs and checkpoints are deleted with their threads. */
export const TruncateRequest = z.object({
  threads: z.boolean().optional(),
  runs: z.boolean().optional(),
  checkpointer: z.boolean().optional(),
  assistants: z.boolean().optional(),
  store: z.boolean().optional(),
});
export type TruncateRequest = z.infer<typeof TruncateRequest>;
