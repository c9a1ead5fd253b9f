import { createRoute } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { body, ErrorDetail, HTTPValidationError, json } from "../shared/schema.ts";
import { DeletedTraces, DeleteTracesRequest } from "./trace-deletion-schema.ts";
import { deleteTraces } from "./trace-deletion-service.ts";

export const traceDeletionRoutes = router();

const remove = createRoute({
  method: "post",
  path: "/api/v1/runs/delete",
  operationId: "deleteTraces",
  tags: ["Trace runs"],
  summary: "Delete traces with all their runs, feedback and files",
  request: { body: body(DeleteTracesRequest) },
  responses: {
    200: json(DeletedTraces, "They are gone, those that were there"),
    403: json(ErrorDetail, "The caller's role does not allow this"),
    404: json(ErrorDetail, "There is no such project"),
    422: json(HTTPValidationError, "A field is wrong"),
  },
});
traceDeletionRoutes.openapi(remove, async (c) =>
  c.json(await deleteTraces(c.var.ctx, c.req.valid("json")), 200),
);
