import { z } from "@hono/zod-openapi";
import { Timestamp } from "../../../shared/schema.ts";

export const LogLevel = z.enum(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]);
export type LogLevel = z.infer<typeof LogLevel>;

const Instant = z.iso.datetime({ offset: true, error: "must be an ISO 8601 time" });

export const LogQuery = z
  .object({
    order: z.enum(["asc", "desc"]).default("asc").describe("Order by time"),
    limit: z
      .number()
      .int()
      .min(1)
      .max(1000)
      .default(50)
      .describe("Maximum number of lines on a page"),
    offset: z.string().nullish().describe("`next_offset` of the previous page"),
    level: LogLevel.nullish().describe("Minimum level"),
    query: z.string().max(1000).nullish().describe("Text that lines contain"),
    start_time: Instant.nullish().describe("Time of the first line"),
    end_time: Instant.nullish().describe("Time of the last line"),
  })
  .openapi("LogQuery");
export type LogQuery = z.infer<typeof LogQuery>;

export const LogPage = z
  .object({
    logs: z
      .array(
        z.object({
          id: z.string().openapi({ description: "Id of the line", example: "1763640000000-0" }),
          timestamp: Timestamp.describe("Time of the line"),
          level: LogLevel.describe("Level of the line"),
          message: z
            .string()
            .openapi({ description: "Text of the line", example: "Installing 214 packages" }),
        }),
      )
      .describe("Lines of the page"),
    next_offset: z
      .string()
      .nullable()
      .openapi({ description: "`offset` of the next page. `null` when no more lines will follow" }),
  })
  .openapi("LogPage");
export type LogPage = z.infer<typeof LogPage>;
