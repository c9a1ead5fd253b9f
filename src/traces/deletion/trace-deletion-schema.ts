import { z } from "@hono/zod-openapi";
import { AnyUuid, namedObject, textField } from "../../shared/schema.ts";
import { MAX_VALUE_CHARS } from "../limits.ts";

const MAX_TRACES = 1000;
/** Maximum number of values of one key of metadata. */
const MAX_VALUES = 100;

const Ids = z.array(AnyUuid).min(1).max(MAX_TRACES);
const Text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
/** Must be shorter than a value that the index may have cut: two different values can be equal when they are cut. */
const Value = Text.refine(
  (text) => text.length < MAX_VALUE_CHARS,
  `must have fewer than ${MAX_VALUE_CHARS} characters`,
);
const Values = z.union([Value.transform((value) => [value]), z.array(Value).max(MAX_VALUES)]);

export const DeleteTracesRequest = z
  .object({
    session_id: AnyUuid.nullish().describe("Id of the project"),
    trace_ids: Ids.nullish().describe("Ids of the traces"),
    run_ids: Ids.nullish().describe("The same as `trace_ids`"),
    metadata: z
      .record(z.string(), Values)
      .nullish()
      .describe("Metadata: deletes traces in which any run has one of the values"),
  })
  .refine(({ trace_ids, run_ids, metadata }) => trace_ids || run_ids || metadata, {
    path: ["trace_ids"],
    error: "required, unless metadata is set",
  })
  .refine(
    ({ session_id, trace_ids, run_ids, metadata }) =>
      session_id || (metadata && !trace_ids && !run_ids),
    { path: ["session_id"], error: "required, unless only metadata is set" },
  )
  .openapi("DeleteTraces", {
    description: "Selects traces of a project by id, or by metadata of any of their runs",
  });
export type DeleteTracesRequest = z.infer<typeof DeleteTracesRequest>;

export const DeletedTraces = namedObject("DeletedTraces", {
  message: textField("Confirmation", "12 runs deleted."),
});
export type DeletedTraces = z.infer<typeof DeletedTraces>;
