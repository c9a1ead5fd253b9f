import { router } from "../../../../shared/http/http.ts";
import { json, operationWithTag, text } from "../../../../shared/schema.ts";
import { Delivery, DeliveryPath } from "../../../webhooks/schema.ts";
import { getRunWebhook, redeliverRunWebhook } from "./run-webhook-service.ts";

export const runDeliveryRoutes = router();

const operation = operationWithTag("Webhooks");

const path = "/agents/{deployment_id}/threads/{thread_id}/runs/{run_id}/webhook";

const delivery = operation("get", path, "getRunWebhook", {
  summary: "Get a webhook delivery",
  description: "Status and attempts of the webhook of a run.",
  request: { params: DeliveryPath },
  responses: {
    200: json(Delivery, "The delivery and its attempts"),
  },
});
runDeliveryRoutes.openapi(delivery, async (c) =>
  c.json(await getRunWebhook(c.var.ctx, c.req.valid("param")), 200),
);

const redelivery = operation("post", path, "redeliverRunWebhook", {
  summary: "Retry a webhook delivery",
  description: "Starts the attempts again after a failure, or makes the next attempt now.",
  request: { params: DeliveryPath },
  responses: {
    202: json(Delivery, "The delivery, which was started again"),
    409: text(
      "The webhook was delivered, its payload is no longer stored, or all attempts are used",
    ),
  },
});
runDeliveryRoutes.openapi(redelivery, async (c) =>
  c.json(await redeliverRunWebhook(c.var.ctx, c.req.valid("param")), 202),
);
