import { z } from "@hono/zod-openapi";
import { originOf, router } from "../../../shared/http/http.ts";
import { ErrorDetail, json, operationWithTag } from "../../../shared/schema.ts";
import { IntegrationPath, Webhook, WebhookAnswer } from "./integration-schema.ts";
import { getWebhook, receiveWebhook } from "./webhook-service.ts";

export const webhookRoutes = router();

const operation = operationWithTag("Integrations");

const get = operation("get", "/v1/integrations/github/{integration_id}/webhook", "getWebhook", {
  summary: "Get a push webhook",
  description: "URL and secret to enter at the repository host, for `build_on_push`.",
  request: { params: IntegrationPath },
  responses: {
    200: json(Webhook, "URL and secret of the webhook"),
    404: json(ErrorDetail, "The integration does not exist in this workspace"),
  },
});
webhookRoutes.openapi(get, async (c) => {
  const { integration_id } = c.req.valid("param");
  return c.json(await getWebhook(c.var.ctx, integration_id, originOf(c.req.url)), 200);
});

const receive = operation("post", "/webhooks/{integration_id}", "receiveWebhook", {
  summary: "Receive a push event",
  description:
    "GitHub, Gitea, Forgejo and GitLab send their events here. The signature is the credential.",
  security: [],
  request: {
    params: IntegrationPath,
    // The handler reads the body as text, because the signature is of its exact bytes.
    headers: z.object({
      "x-hub-signature-256": z.string().optional().describe("Signature by GitHub or Forgejo"),
      "x-gitea-signature": z.string().optional().describe("Signature by Gitea"),
      "x-gitlab-token": z.string().optional().describe("Secret token of GitLab"),
    }),
  },
  responses: {
    200: json(WebhookAnswer, "The event was processed"),
    400: json(ErrorDetail, "The body is not JSON"),
    401: json(ErrorDetail, "The signature does not match"),
    413: json(ErrorDetail, "Body too large"),
  },
});
webhookRoutes.openapi(receive, async (c) => {
  const { integration_id } = c.req.valid("param");
  const body = await c.req.text();
  return c.json(await receiveWebhook(c.env, integration_id, c.req.raw.headers, body), 200);
});
