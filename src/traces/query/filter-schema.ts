import { z } from "@hono/zod-openapi";

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

export const FilterValidation = z
  .object({
    valid: z.boolean().describe("Whether all filters are valid"),
    errors: z
      .array(
        z.object({
          field: z.string().openapi({ description: "Name of the filter", example: "filter" }),
          message: z.string().openapi({
            description: "What is wrong and how to correct it",
            example: 'Unknown field "latency_s"; did you mean "latency"?',
          }),
        }),
      )
      .describe("Errors of the filters"),
  })
  .openapi("FilterValidation");
export type FilterValidation = z.infer<typeof FilterValidation>;
