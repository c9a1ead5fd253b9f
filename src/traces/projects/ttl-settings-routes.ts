import { z } from "@hono/zod-openapi";
import { router } from "../../shared/http/http.ts";
import { body, json, operationWithTag } from "../../shared/schema.ts";
import { TtlSettings, TtlSettingsChange } from "./ttl-settings-schema.ts";
import { listTtlSettings, setTtlSettings } from "./ttl-settings-service.ts";

export const ttlSettingsRoutes = router();

const PATH = "/api/v1/ttl-settings";
const operation = operationWithTag("Projects");

const list = operation("get", PATH, "listTtlSettings", {
  summary: "List retention settings",
  description: "One item: the retention tier for projects of the workspace that have none.",
  responses: { 200: json(z.array(TtlSettings), "Settings of the workspace") },
});
ttlSettingsRoutes.openapi(list, async (c) => c.json(await listTtlSettings(c.var.ctx), 200));

const set = operation("put", PATH, "setTtlSettings", {
  summary: "Set the default retention",
  description:
    "Within seconds, new runs of projects without a tier get this one. Stored runs keep their tier. For admins.",
  request: { body: body(TtlSettingsChange) },
  responses: { 200: json(TtlSettings, "Settings of the workspace") },
});
ttlSettingsRoutes.openapi(set, async (c) =>
  c.json(await setTtlSettings(c.var.ctx, c.req.valid("json")), 200),
);
