import type { Context as HonoContext } from "hono";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../../../shared/context.ts";
import { tryCount } from "../../../shared/http/rate-limit.ts";
import { log } from "../../../shared/log.ts";
import { recordChange } from "./audit-service.ts";
import { isChanging, isWorthRecording, resourcesOf } from "./changes.ts";

/**
 * Maximum number of refusals that are recorded for a caller each minute: rows are never deleted, and a caller must not
 * fill the database with them. Successful changes are limited by their operations.
 */
const REFUSALS = { name: "audited_refusals", calls: 60, in_s: 60 };

type FindOperation = (c: HonoContext<AppEnv>) => string | null;

/** Records the changes of operations before the response is sent. */
export function audit(findOperation: FindOperation) {
  return createMiddleware<AppEnv>(async (c, next) => {
    await next();
    const action = findOperation(c);
    const { status } = c.res;
    if (action === null || !isChanging(c.req.method, action)) return;
    const { audited = [] } = c.var.ctx;
    if (!isWorthRecording(action, status, audited)) return;
    if (status === 403 && !tryCount(c.var.ctx, REFUSALS)) return;
    const resources = resourcesOf(c.req.param(), c.req.queries(), await answerOf(c), audited);
    const change = { request_id: c.var.requestId, action, resources, status };
    // The change is already made, so its response stays. The log of the Worker keeps the entry.
    await recordChange(c.var.ctx, change).catch((error: unknown) => {
      const { workspace_id } = c.var.ctx.caller;
      const ids = JSON.stringify(resources);
      log.error("audit_failed", error, { ...change, resources: ids, workspace_id });
    });
  });
}

async function answerOf(c: HonoContext<AppEnv>): Promise<unknown> {
  const isJson = c.res.headers.get("Content-Type")?.startsWith("application/json") ?? false;
  if (c.req.method !== "POST" || !c.res.ok || !isJson) return null;
  return c.res.clone().json();
}
