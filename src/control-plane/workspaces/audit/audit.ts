import type { Context as HonoContext } from "hono";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../../../shared/context.ts";
import { tryCount } from "../../../shared/http/rate-limit.ts";
import { log } from "../../../shared/log.ts";
import { recordChange } from "./audit-service.ts";
import { isChanging, isWorthRecording, resourcesOf } from "./changes.ts";

/** Rows are never deleted: a caller cannot fill the database with refusals. Changes have the limits of their operations. */
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
    if (!isWorthRecording(status, audited)) return;
    if (status === 403 && !tryCount(c.var.ctx, REFUSALS)) return;
    const resources = resourcesOf(c.req.param(), c.req.queries(), await answerOf(c), audited);
    const change = { request_id: c.var.requestId, action, resources, status };
    // The change is made: an answer that denies it would be wrong, so the log of the Worker keeps it.
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
