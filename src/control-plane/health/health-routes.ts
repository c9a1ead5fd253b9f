import { router } from "../../shared/http/http.ts";
import { json, operationWithTag } from "../../shared/schema.ts";
import { Health } from "./health-schema.ts";
import { getHealth } from "./health-service.ts";

export const healthRoutes = router();

const operation = operationWithTag("System");

const health = operation("get", "/v1/health", "getHealth", {
  summary: "Check the region",
  description:
    "For monitoring: whether the stores answer, when the cron ran, and the age of the oldest work that waits. The values are of the whole region and name no workspace.",
  security: [],
  responses: {
    200: json(Health, "Each check is `ok`"),
    503: json(Health, "A check is not `ok`. `remedy` of a `stuck` check states how to repair it"),
  },
});
healthRoutes.openapi(health, async (c) => {
  const result = await getHealth(c.env);
  c.header("Cache-Control", "no-store");
  return result.status === "ok" ? c.json(result, 200) : c.json(result, 503);
});
