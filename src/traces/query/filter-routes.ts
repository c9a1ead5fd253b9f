import { router } from "../../shared/http/http.ts";
import { body, HTTPValidationError, json, operationWithTag } from "../../shared/schema.ts";
import { FilterValidation, FilterValidationRequest } from "./filter-schema.ts";
import { validateFilters } from "./filter-service.ts";

export const filterRoutes = router();

const operation = operationWithTag("Traces");

const validate = operation("post", "/api/v1/runs/query/validate", "validateTraceQuery", {
  summary: "Validate filters",
  description: "Checks the filters of a query without running it.",
  request: { body: body(FilterValidationRequest) },
  responses: {
    200: json(FilterValidation, "Whether the filters are valid, and their errors"),
    422: json(HTTPValidationError, "A filter is not a string"),
  },
});
filterRoutes.openapi(validate, (c) => c.json(validateFilters(c.req.valid("json")), 200));
