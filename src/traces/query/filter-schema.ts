import { z } from "@hono/zod-openapi";
import { namedObject, textField } from "../../shared/schema.ts";

const FilterText = z.string().nullish();

/** Body of a query, reduced to its filters. */
export const FilterValidationRequest = z
  .looseObject({
    filter: FilterText.describe("Filter of the runs"),
    trace_filter: FilterText.describe("Filter of the root runs of their traces"),
    tree_filter: FilterText.describe("Filter that any run of their traces must match"),
  })
  .openapi("FilterValidationRequest");
export type FilterValidationRequest = z.infer<typeof FilterValidationRequest>;

export const FilterValidation = namedObject("FilterValidation", {
  valid: z.boolean().describe("Whether all filters are valid"),
  errors: z
    .array(
      z.object({
        field: textField("Name of the filter", "filter"),
        message: textField(
          "What is wrong and how to correct it",
          'Unknown field "latency_s"; did you mean "latency"?',
        ),
      }),
    )
    .describe("Errors of the filters"),
});
export type FilterValidation = z.infer<typeof FilterValidation>;
