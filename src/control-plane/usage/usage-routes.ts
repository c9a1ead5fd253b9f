import { router } from "../../shared/http/http.ts";
import { body, json, operationWithTag } from "../../shared/schema.ts";
import { QuotaList, QuotasChange } from "../quotas/quota-schema.ts";
import { UsageDays, UsageQuery } from "./usage-schema.ts";
import { getStored, getUsage, listQuotas, setQuotas } from "./usage-service.ts";

export const usageRoutes = router();

const QUOTAS = "/v1/quotas";
const operation = operationWithTag("Usage");

const usage = operation("get", "/v1/usage", "getUsage", {
  summary: "Get usage by day",
  description:
    "Runs, traces and exports of the workspace by UTC day, at most 366 days. For admins. Runs follow by about ten seconds, and a crash of the platform can lose those of ten seconds. Traces are the stored ones: deleted and expired ones do not count. Stored bytes follow by about a minute, those of agent logs in steps of a megabyte.",
  request: { query: UsageQuery },
  responses: { 200: json(UsageDays, "Usage of each day") },
});
usageRoutes.openapi(usage, async (c) => {
  const { ctx } = c.var;
  const [days, stored, quotas] = await Promise.all([
    getUsage(ctx, c.req.valid("query")),
    getStored(ctx),
    listQuotas(ctx),
  ]);
  return c.json({ days, stored, quotas }, 200);
});

const list = operation("get", QUOTAS, "listQuotas", {
  summary: "List quotas",
  description: "Quotas of the workspace with the usage of their current period.",
  responses: { 200: json(QuotaList, "Quotas") },
});
usageRoutes.openapi(list, async (c) => c.json({ quotas: await listQuotas(c.var.ctx) }, 200));

const replace = operation("put", QUOTAS, "setQuotas", {
  summary: "Set quotas",
  description:
    "Replaces the quotas of the workspace's admins; an empty list removes them. Quotas of the operator stay. Over a quota new work is refused with 402, and running work continues. Takes effect within a minute. For admins.",
  request: { body: body(QuotasChange) },
  responses: { 200: json(QuotaList, "Quotas, those of the operator included") },
});
usageRoutes.openapi(replace, async (c) =>
  c.json({ quotas: await setQuotas(c.var.ctx, c.req.valid("json")) }, 200),
);
