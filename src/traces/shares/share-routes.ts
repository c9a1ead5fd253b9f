import { z } from "@hono/zod-openapi";
import { originOf, router } from "../../shared/http/http.ts";
import { AnyUuid, json, operationWithTag, problem } from "../../shared/schema.ts";
import { TraceShare, TraceShareV2 } from "./share-schema.ts";
import { createShare, deleteShare, getShare } from "./share-service.ts";

export const shareRoutes = router();

const operation = operationWithTag("Shared traces");
const params = z.object({
  run_id: AnyUuid.describe("Id of a run of the trace"),
});
const path = "/api/v1/runs/{run_id}/share";
const description =
  "Creates a link that shows the trace without a key, or returns the existing one. Heddle chooses the token: one in the body has no effect.";

const hidden = {
  409: problem("The link is of an encryption key that was removed: revoke it to create another"),
};

const create = operation("put", path, "createTraceShare", {
  summary: "Create the link of a trace",
  description,
  request: { params },
  responses: { 200: json(TraceShare, "The link of the trace"), ...hidden },
});
shareRoutes.openapi(create, async (c) =>
  c.json(await createShare(c.var.ctx, c.req.valid("param").run_id, originOf(c.req.url)), 200),
);

const get = operation("get", path, "getTraceShare", {
  summary: "Get the link of a trace",
  description: "`null` while the trace is not shared.",
  request: { params },
  responses: {
    200: json(z.union([TraceShare, z.null()]), "The link, `null` when the trace is not shared"),
    ...hidden,
  },
});
shareRoutes.openapi(get, async (c) =>
  c.json(await getShare(c.var.ctx, c.req.valid("param").run_id, originOf(c.req.url)), 200),
);

const removed = { description: "The link no longer works, or there was none" };

const remove = operation("delete", path, "deleteTraceShare", {
  summary: "Revoke the link of a trace",
  description: "Ends the link at once. Revoking a trace that is not shared changes nothing.",
  request: { params },
  responses: { 204: removed },
});
shareRoutes.openapi(remove, async (c) => {
  await deleteShare(c.var.ctx, c.req.valid("param").run_id);
  return c.body(null, 204);
});

const pathV2 = "/api/v2/runs/{run_id}/share";
const problems = { 404: problem("The run does not exist") };

const createV2 = operation("post", pathV2, "createTraceShareV2", {
  summary: "Create the link of a trace (v2)",
  description,
  request: { params },
  responses: { 200: json(TraceShareV2, "The token of the link"), ...hidden, ...problems },
});
shareRoutes.openapi(createV2, async (c) => {
  const share = await createShare(c.var.ctx, c.req.valid("param").run_id, originOf(c.req.url));
  return c.json(TraceShareV2.parse(share), 200);
});

const removeV2 = operation("delete", pathV2, "deleteTraceShareV2", {
  summary: "Revoke the link of a trace (v2)",
  description: "Ends the link at once. Revoking a trace that is not shared changes nothing.",
  request: { params },
  responses: { 204: removed, ...problems },
});
shareRoutes.openapi(removeV2, async (c) => {
  await deleteShare(c.var.ctx, c.req.valid("param").run_id);
  return c.body(null, 204);
});
