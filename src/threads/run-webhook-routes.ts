import { createRoute } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { json, text } from "../shared/schema.ts";
import { Delivery, DeliveryPath } from "../webhooks/schema.ts";
import { getRunWebhook, redeliverRunWebhook } from "./run-webhook-service.ts";

export const runDeliveryRoutes = router();

const path = "/agents/{deployment_id}/threads/{thread_id}/runs/{run_id}/webhook";
const refusals = {
  401: text("No valid credentials"),
  403: text("Not allowed with this role"),
  404: text("The run is not over, or was given no webhook"),
  422: text("A part of the path is wrong"),
  429: text("Too many requests"),
  500: text("Internal error"),
  503: text("Not available for the moment; see Retry-After"),
};

const delivery = createRoute({
  method: "get",
  path,
  operationId: "getRunWebhook",
  tags: ["Webhooks"],
  summary: "What became of a run's webhook, attempt by attempt",
  request: { params: DeliveryPath },
  responses: {
    200: json(Delivery, "The delivery and its attempts"),
    ...refusals,
  },
});
runDeliveryRoutes.openapi(delivery, async (c) =>
  c.json(await getRunWebhook(c.var.ctx, c.req.valid("param")), 200),
);

const redelivery = createRoute({
  method: "post",
  path,
  operationId: "redeliverRunWebhook",
  tags: ["Webhooks"],
  summary:
    "Tell a run's webhook once more, after it was given up, or at once, before its next attempt",
  request: { params: DeliveryPath },
  responses: {
    202: json(Delivery, "The delivery, which begins anew"),
    409: text("It was delivered, or what was to be told is not kept any more"),
    ...refusals,
  },
});
runDeliveryRoutes.openapi(redelivery, async (c) =>
  c.json(await redeliverRunWebhook(c.var.ctx, c.req.valid("param")), 202),
);
