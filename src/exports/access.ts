import { assertMay } from "../shared/auth.ts";
import type { Context } from "../shared/context.ts";
import { AppError } from "../shared/errors.ts";

/** Allows reads for every role and changes for administrators, on the plans Plus and Enterprise. */
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
