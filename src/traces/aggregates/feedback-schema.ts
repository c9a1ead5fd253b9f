import { z } from "@hono/zod-openapi";

/** Scores and values by the key of the feedback. */
export const FeedbackStats = z.record(
  z.string(),
  z.object({
    n: z.number().int().describe("Number of entries with the key"),
    avg: z
      .number()
      .nullable()
      .describe("Average score, `null` without scores, or when a double cannot hold their sum"),
    values: z
      .record(z.string(), z.number().int())
      .describe("Number of times each text was given, by its first 250 characters"),
  }),
);
