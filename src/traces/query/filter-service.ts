import { readFilter } from "../filter/parse.ts";
import type { FilterValidation, FilterValidationRequest } from "./filter-schema.ts";

const FILTERS = ["filter", "trace_filter", "tree_filter"] as const;

export function validateFilters(input: FilterValidationRequest): FilterValidation {
  const errors: FilterValidation["errors"] = [];
  for (const field of FILTERS) {
    const text = input[field];
    const read = text == null || text.trim() === "" ? null : readFilter(text);
    if (read?.ok === false) errors.push({ field, message: read.message });
  }
  return { valid: errors.length === 0, errors };
}
