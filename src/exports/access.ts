import { assertMay } from "../shared/auth.ts";
import type { Context } from "../shared/context.ts";
import { AppError } from "../shared/errors.ts";

/** Reading is for every role, the rest for administrators of the workspace; all of it from the plan Plus on. */
export function assertMayExport(ctx: Pick<Context, "caller">, action: "read" | "manage"): void {
  assertPlan(ctx.caller.plan);
  assertMay(ctx, action === "read" ? "read" : "admin");
}

function assertPlan(plan: Context["caller"]["plan"]): void {
  if (plan !== "developer") return;
  const text =
    "Bulk export requires the plan Plus or Enterprise. This organization's plan is Developer.";
  throw new AppError("forbidden", text);
}
