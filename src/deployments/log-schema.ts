import { z } from "@hono/zod-openapi";
import { Timestamp } from "../shared/schema.ts";

export const LogLevel = z.enum(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]);
export type LogLevel = z.infer<typeof LogLevel>;

const Instant = z.iso.datetime({ offset: true, error: "must be an ISO 8601 time" });

export const LogQuery = z
  .object({
    order: z.enum(["asc", "desc"]).default("asc"),
    limit: z.number().int().min(1).max(1000).default(50),
    offset: z.string().nullish(),
    level: LogLevel.nullish(),
    query: z.string().max(1000).nullish(),
    start_time: Instant.nullish(),
    end_time: Instant.nullish(),
  })
  .openapi("LogQuery");
export type LogQuery = z.infer<typeof LogQuery>;

export const LogPage = z
  .object({
    logs: z.array(
      z.object({ id: z.string(), timestamp: Timestamp, level: LogLevel, message: z.string() }),
    ),
    next_offset: z
      .string()
      .nullable()
      .openapi({ description: "Null when there is no more and nothing more will come." }),
  })
  .openapi("LogPage");
export type LogPage = z.infer<typeof LogPage>;
