import { router } from "../../shared/http/http.ts";
import { body, ErrorDetail, json, operationWithTag } from "../../shared/schema.ts";
import { DeletedTraces, DeleteTracesRequest } from "./trace-deletion-schema.ts";
import { deleteTraces } from "./trace-deletion-service.ts";

export const traceDeletionRoutes = router();

const operation = operationWithTag("Trace runs");

const remove = operation("post", "/api/v1/runs/delete", "deleteTraces", {
  summary: "Delete traces",
  description: "Deletes all runs of the traces, with feedback and attachments.",
  request: { body: body(DeleteTracesRequest) },
  responses: {
    200: json(DeletedTraces, "The traces that existed are deleted"),
    404: json(ErrorDetail, "The project does not exist"),
    409: json(ErrorDetail, "The project of one of the traces is on legal hold"),
  },
});
traceDeletionRoutes.openapi(remove, async (c) =>
  c.json(await deleteTraces(c.var.ctx, c.req.valid("json")), 200),
);
