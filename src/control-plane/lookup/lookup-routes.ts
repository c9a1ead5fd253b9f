import { router } from "../../shared/http/http.ts";
import { json, operationWithTag } from "../../shared/schema.ts";
import { Lookup, LookupPath } from "./lookup-schema.ts";
import { lookUp } from "./lookup-service.ts";

export const lookupRoutes = router();

const operation = operationWithTag("Workspaces");

lookupRoutes.openapi(
  operation("get", "/v1/lookup/{resource_id}", "lookUp", {
    summary: "Get the things with an id",
    description:
      "Names what has an id: a deployment, a revision, a thread, a run of a trace, an export. Threads are found in the newest 500 deployments, except those that do not serve and those whose agent authenticates its own users.",
    request: { params: LookupPath },
    responses: { 200: json(Lookup, "What has the id") },
  }),
  async (c) => c.json(await lookUp(c.var.ctx, c.req.valid("param").resource_id), 200),
);
