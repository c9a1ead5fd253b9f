import { z } from "@hono/zod-openapi";

const FilterText = z.string().nullish();

/** The body of a query; what is no filter is left to the query. */
export const FilterValidationRequest = z
  .looseObject({ filter: FilterText, trace_filter: FilterText, tree_filter: FilterText })
  .openapi("FilterValidationRequest");
export type FilterValidationRequest = z.infer<typeof FilterValidationRequest>;

export const FilterValidation = z
  .object({
    valid: z.boolean(),
    errors: z.array(z.object({ field: z.string(), message: z.string() })),
  })
  .openapi("FilterValidation");
export type FilterValidation = z.infer<typeof FilterValidation>;
