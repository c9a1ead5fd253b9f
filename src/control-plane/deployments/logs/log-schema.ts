import { z } from "@hono/zod-openapi";
import { bodyLimit, namedObject, Timestamp, textField } from "../../../shared/schema.ts";

export const LogLevel = z.enum(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]);
export type LogLevel = z.infer<typeof LogLevel>;

const Instant = z.iso.datetime({ offset: true, error: "must be an ISO 8601 time" });

export const RevisionStreamHeaders = z.object({
  "last-event-id": z
    .string()
    .max(100)
    .optional()
    .describe("Id of the last event received: the stream continues after it"),
});

export const LogStreamHeaders = z.object({
  "last-event-id": z
    .string()
    .regex(/^\d{1,15}$/, "must be the id of an event of this stream")
    .optional()
    .describe("Id of the last event received: the stream continues after it"),
});

export const LogQuery = namedObject("LogQuery", {
  order: z.enum(["asc", "desc"]).default("asc").describe("Order by time"),
  limit: bodyLimit("lines", 1000, 50),
  offset: z.string().nullish().describe("`next_offset` of the previous page"),
  level: LogLevel.nullish().describe("Level of the lines, exactly this one"),
  query: z.string().max(1000).nullish().describe("Text that lines contain"),
  start_time: Instant.nullish().describe("Start of the time range"),
  end_time: Instant.nullish().describe("End of the time range, exclusive"),
});
export type LogQuery = z.infer<typeof LogQuery>;

export const LogStreamQuery = LogQuery.pick({
  level: true,
  query: true,
  start_time: true,
  end_time: true,
}).strict();
export type LogStreamQuery = z.infer<typeof LogStreamQuery>;

export const LogLine = namedObject("LogLine", {
  id: textField("Id of the line", "4711"),
  timestamp: Timestamp.describe("Time of the line"),
  level: LogLevel.describe("Level of the line"),
  message: textField("Text of the line", "Installing 214 packages"),
});
export type LogLine = z.infer<typeof LogLine>;

export const LogPage = namedObject("LogPage", {
  logs: z.array(LogLine).describe("Lines of the page"),
  next_offset: z
    .string()
    .nullable()
    .describe(
      "`offset` of the next page. `null` on the last page of order `desc`, of an ended build, and of a past time range. A call that ends later may still add lines to that range",
    ),
});
export type LogPage = z.infer<typeof LogPage>;
