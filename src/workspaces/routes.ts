import { createRoute } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { json, refusals } from "../shared/schema.ts";
import { AuditLogsList, AuditLogsQuery } from "./audit-schema.ts";
import { listAuditLogs } from "./audit-service.ts";

export const workspaceRoutes = router();

const list = createRoute({
  method: "get",
  path: "/v1/audit-logs",
  operationId: "listAuditLogs",
  tags: ["Audit"],
  summary: "List what was changed, by whom, and what was refused; newest first",
  request: { query: AuditLogsQuery },
  responses: { 200: json(AuditLogsList, "A page"), ...refusals },
});
workspaceRoutes.openapi(list, async (c) =>
  c.json(await listAuditLogs(c.var.ctx, c.req.valid("query")), 200),
);
