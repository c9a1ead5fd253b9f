import { router } from "../../shared/http/http.ts";
import { body, ErrorDetail, json, operationWithTag } from "../../shared/schema.ts";
import {
  Alert,
  AlertCreateRequest,
  AlertDeliveries,
  AlertList,
  AlertPatchRequest,
  AlertPath,
} from "./alert-schema.ts";
import {
  createAlert,
  deleteAlert,
  getAlert,
  listAlertDeliveries,
  listAlerts,
  updateAlert,
} from "./alert-service.ts";

const ALERTS = "/v1/alerts";
const ALERT = `${ALERTS}/{alert_id}` as const;

export const alertRoutes = router();

const operation = operationWithTag("Alerts");

const create = operation("post", ALERTS, "createAlert", {
  summary: "Create an alert",
  description:
    "The cron evaluates it each minute, or each five minutes if its window is longer than an hour. When the condition begins to hold, and when it ends, the URL receives one signed webhook.",
  request: { body: body(AlertCreateRequest) },
  responses: {
    201: json(Alert, "The alert"),
    404: json(ErrorDetail, "The project does not exist in this workspace"),
    409: json(ErrorDetail, "The workspace has the maximum number of alerts"),
  },
});
alertRoutes.openapi(create, async (c) =>
  c.json(await createAlert(c.var.ctx, c.req.valid("json")), 201),
);

const list = operation("get", ALERTS, "listAlerts", {
  summary: "List alerts",
  description: "The oldest first, each with its status and last value.",
  responses: { 200: json(AlertList, "All alerts of the workspace") },
});
alertRoutes.openapi(list, async (c) => c.json({ alerts: await listAlerts(c.var.ctx) }, 200));

const get = operation("get", ALERT, "getAlert", {
  summary: "Get an alert",
  description: "With its status and last value.",
  request: { params: AlertPath },
  responses: { 200: json(Alert, "The alert with its state") },
});
alertRoutes.openapi(get, async (c) =>
  c.json(await getAlert(c.var.ctx, c.req.valid("param").alert_id), 200),
);

const update = operation("patch", ALERT, "updateAlert", {
  summary: "Update an alert",
  description:
    "The next cron tick evaluates it. Disabling a firing alert sends the webhook of its end.",
  request: { params: AlertPath, body: body(AlertPatchRequest) },
  responses: { 200: json(Alert, "The updated alert") },
});
alertRoutes.openapi(update, async (c) =>
  c.json(await updateAlert(c.var.ctx, c.req.valid("param").alert_id, c.req.valid("json")), 200),
);

const remove = operation("delete", ALERT, "deleteAlert", {
  summary: "Delete an alert",
  description: "Also deletes its deliveries. A firing alert sends no webhook of its end.",
  request: { params: AlertPath },
  responses: { 204: { description: "Deleted" } },
});
alertRoutes.openapi(remove, async (c) => {
  await deleteAlert(c.var.ctx, c.req.valid("param").alert_id);
  return c.body(null, 204);
});

const deliveries = operation("get", `${ALERT}/deliveries`, "listAlertDeliveries", {
  summary: "List deliveries of an alert",
  description: "Webhooks with their attempts. They are kept for a month after their end.",
  request: { params: AlertPath },
  responses: { 200: json(AlertDeliveries, "Deliveries") },
});
alertRoutes.openapi(deliveries, async (c) => {
  const { alert_id } = c.req.valid("param");
  return c.json({ deliveries: await listAlertDeliveries(c.var.ctx, alert_id) }, 200);
});
