import { router } from "../../shared/http/http.ts";
import { body, json, operationWithTag } from "../../shared/schema.ts";
import { listWebhookDeliveries } from "./list-service.ts";
import { DeliveriesList, DeliveriesQuery, SecretChange, SecretSet, SecretState } from "./schema.ts";
import { deleteWebhookSecret, getWebhookSecret, setWebhookSecret } from "./secret-service.ts";

export const runWebhookRoutes = router();

const operation = operationWithTag("Webhooks");
const SECRET = "/v1/run-webhooks/secret";

const get = operation("get", SECRET, "getWebhookSecret", {
  summary: "Get the webhook secret's status",
  description: "Reports whether run webhooks are signed. The secret itself is never returned.",
  responses: { 200: json(SecretState, "Status of the secret") },
});
runWebhookRoutes.openapi(get, async (c) => c.json(await getWebhookSecret(c.var.ctx), 200));

const set = operation("put", SECRET, "setWebhookSecret", {
  summary: "Set the webhook secret",
  description: "Signs the webhooks of runs. A new secret replaces the earlier one.",
  request: { body: body(SecretChange) },
  responses: {
    200: json(SecretSet, "The secret is set. The previous one signs too for a day"),
  },
});
runWebhookRoutes.openapi(set, async (c) =>
  c.json(await setWebhookSecret(c.var.ctx, c.req.valid("json")), 200),
);

const remove = operation("delete", SECRET, "deleteWebhookSecret", {
  summary: "Delete the webhook secret",
  description: "Webhooks of runs are no longer signed.",
  responses: { 204: { description: "The secret does not exist any more" } },
});
runWebhookRoutes.openapi(remove, async (c) => {
  await deleteWebhookSecret(c.var.ctx);
  return c.body(null, 204);
});

const list = operation("get", "/v1/run-webhooks/deliveries", "listWebhookDeliveries", {
  summary: "List webhook deliveries",
  description:
    "Deliveries of all deployments of the workspace, newest run first. Those of runs are kept for 30 days after their end, those of traces for a day.",
  request: { query: DeliveriesQuery },
  responses: { 200: json(DeliveriesList, "Page of results") },
});
runWebhookRoutes.openapi(list, async (c) =>
  c.json(await listWebhookDeliveries(c.var.ctx, c.req.valid("query")), 200),
);
