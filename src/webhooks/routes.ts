import { createRoute } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { body, bodyRefusals, json, refusals, text } from "../shared/schema.ts";
import { Delivery, DeliveryPath, SecretChange, SecretSet, SecretState } from "./schema.ts";
import { deleteWebhookSecret, getWebhookSecret, setWebhookSecret } from "./secret-service.ts";
import { getDelivery } from "./service.ts";

export const runWebhookRoutes = router();

const tags = ["Webhooks"];
const SECRET = "/v1/run-webhooks/secret";

const get = createRoute({
  method: "get",
  path: SECRET,
  operationId: "getWebhookSecret",
  tags,
  summary: "Whether there is a secret that signs the webhooks of runs; never the secret",
  responses: { 200: json(SecretState, "Whether, and since when"), ...refusals },
});
runWebhookRoutes.openapi(get, async (c) => c.json(await getWebhookSecret(c.var.ctx), 200));

const set = createRoute({
  method: "put",
  path: SECRET,
  operationId: "setWebhookSecret",
  tags,
  summary: "Set or rotate the secret that signs the webhooks of runs",
  request: { body: body(SecretChange) },
  responses: {
    200: json(SecretSet, "Set; the one before signs beside it for a day"),
    ...bodyRefusals,
  },
});
runWebhookRoutes.openapi(set, async (c) =>
  c.json(await setWebhookSecret(c.var.ctx, c.req.valid("json")), 200),
);

const remove = createRoute({
  method: "delete",
  path: SECRET,
  operationId: "deleteWebhookSecret",
  tags,
  summary: "Delete the secret: webhooks of runs are not signed any more",
  responses: { 204: { description: "Deleted, or there was none" }, ...refusals },
});
runWebhookRoutes.openapi(remove, async (c) => {
  await deleteWebhookSecret(c.var.ctx);
  return c.body(null, 204);
});

const delivery = createRoute({
  method: "get",
  path: "/agents/{deployment_id}/threads/{thread_id}/runs/{run_id}/webhook",
  operationId: "getRunWebhook",
  tags,
  summary: "What became of a run's webhook, attempt by attempt",
  request: { params: DeliveryPath },
  responses: {
    200: json(Delivery, "The delivery and its attempts"),
    401: text("No valid credentials"),
    403: text("Not allowed with this role"),
    404: text("The run is not over, or was given no webhook"),
    422: text("A part of the path is wrong"),
    429: text("Too many requests"),
    500: text("Internal error"),
    503: text("Not available for the moment; see Retry-After"),
  },
});
runWebhookRoutes.openapi(delivery, async (c) =>
  c.json(await getDelivery(c.var.ctx, c.req.valid("param")), 200),
);
