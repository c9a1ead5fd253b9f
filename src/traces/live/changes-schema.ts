import { z } from "@hono/zod-openapi";
import { AnyUuid, textField } from "../../shared/schema.ts";
import { RunsPageV2, RunsQueryV2Request } from "../query/query-schema.ts";

const MAX_CURSOR_CHARS = 100_000;

export const RunChangesRequest = RunsQueryV2Request.pick({
  filter: true,
  is_root: true,
  run_type: true,
  has_error: true,
  page_size: true,
  selects: true,
})
  .extend({
    project_id: AnyUuid.openapi({
      description: "Id of the project",
      example: "019a2b3c-0000-7000-8000-000000000004",
    }),
    cursor: z
      .string()
      .max(MAX_CURSOR_CHARS, "must be the cursor of an earlier answer")
      .nullish()
      .describe(
        "Cursor of an earlier answer. Without one, the answer has only a cursor, and no runs",
      ),
  })
  .openapi("RunChangesQuery");
export type RunChangesRequest = z.infer<typeof RunChangesRequest>;

export const RunChanges = RunsPageV2.extend({
  has_more: z.boolean().describe("Whether there are more changes already"),
  next_cursor: textField("Cursor that returns the changes after these", "eyJwIjoiMDE5YTJiM2MifQ"),
}).openapi("RunChanges");
export type RunChanges = z.infer<typeof RunChanges>;
