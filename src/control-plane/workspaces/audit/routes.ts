import { router } from "../../../shared/http/http.ts";
import { json, operationWithTag } from "../../../shared/schema.ts";
import { AuditLogsList, AuditLogsQuery } from "./audit-schema.ts";
import { listAuditLogs } from "./audit-service.ts";

export const workspaceRoutes = router();

const operation = operationWithTag("Audit");

const list = operation("get", "/v1/audit-logs", "listAuditLogs", {
  summary: "List audit logs",
  description: "Changes and refused requests, newest first. For admins.",
  request: { query: AuditLogsQuery },
  responses: { 200: json(AuditLogsList, "Page of entries") },
});
workspaceRoutes.openapi(list, async (c) =>
  c.json(await listAuditLogs(c.var.ctx, c.req.valid("query")), 200),
);
