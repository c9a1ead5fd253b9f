import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { matchedRoutes } from "hono/route";
import type { AppEnv } from "../../shared/context.ts";
import { count, observe } from "../../shared/metrics/metrics.ts";

const METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];
/** Statuses of requests that were refused because of load. */
const REFUSED = [429, 503];

/** Observes the time until the response begins, which for a stream is before its end. */
export function measureRequests(ingests: (method: string, path: string) => boolean) {
  return createMiddleware<AppEnv>(async (c, next) => {
    const started_at = Date.now();
    await next();
    const { status } = c.res;
    const { method, path } = c.req;
    const labels = {
      route: routeOf(c),
      method: METHODS.includes(method) ? method : "other",
      status: `${Math.floor(status / 100)}xx`,
    };
    observe("heddle_http_request_duration_seconds", labels, (Date.now() - started_at) / 1000);
    if (REFUSED.includes(status) && ingests(method, path)) {
      count("heddle_ingestion_refused_total", { status });
    }
  });
}

/** Returns the pattern of the route that answered. Matched middleware has the method ALL. */
function routeOf(c: Context<AppEnv>): string {
  const route = matchedRoutes(c).findLast(({ method }) => method === c.req.method);
  return route?.path ?? "none";
}
