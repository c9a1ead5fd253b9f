import type { Context } from "./context.ts";
import { AppError } from "./errors.ts";

type PlanHolder = { plan: Context["caller"]["plan"] };

/** Returns whether the plan is Plus or Enterprise. */
export function isPaidPlan({ plan }: PlanHolder): boolean {
  return plan !== "developer";
}

/** Published command-line tools recognize `not enabled` in a 403. */
export function assertPaidPlan(caller: PlanHolder, feature: string): void {
  if (isPaidPlan(caller)) return;
  const text = `${feature} is not enabled for this organization: it requires the plan Plus or Enterprise. This organization's plan is Developer.`;
  throw new AppError("forbidden", text);
}
