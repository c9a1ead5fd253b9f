import type { AlertList } from "../../../control-plane/alerts/alert-schema.ts";
import type { QuotaList } from "../../../control-plane/quotas/quota-schema.ts";
import { conditionOf } from "../../alerts/alert-texts.ts";
import { ALERTS } from "../../alerts/monitor-tabs.tsx";
import { useApiQuery, useWorkspaceId } from "../../api/hooks.ts";
import { pathTo } from "../../state/path.ts";
import { isUsedUp, METER_TEXTS, PERIOD_TEXTS, QUOTAS } from "../../workspace/meters.ts";

export type OverviewProblem = {
  key: string;
  title: string;
  detail: string;
  /**
   * Start of an alert, end of a failed build or export, or start of the newest half hour with a failed run. `null` for
   * a used-up quota.
   */
  at: string | null;
  /** Whether `at` is the start of a half hour, and not an exact time. */
  isRough?: boolean;
  to: string;
};

const POLL_MS = 10_000;

/** @returns `null` until the alerts are read */
export function useFiringAlerts(): OverviewProblem[] | null {
  const workspace = useWorkspaceId();
  const { data } = useApiQuery<AlertList>(ALERTS, { poll: POLL_MS });
  if (data === undefined) return null;
  const firing = data.alerts.filter(({ status }) => status === "firing");
  return firing.map((alert) => ({
    key: alert.id,
    title: `Alert: ${alert.name}`,
    detail: conditionOf(alert),
    at: alert.started_at,
    to: `${pathTo(workspace, "/monitor/alerts")}?${new URLSearchParams({ alert: alert.id })}`,
  }));
}

/** @returns `null` until the quotas are read */
export function useUsedUpQuotas(): OverviewProblem[] | null {
  const workspace = useWorkspaceId();
  const { data } = useApiQuery<QuotaList>(QUOTAS, { poll: POLL_MS });
  if (data === undefined) return null;
  return data.quotas.filter(isUsedUp).map(({ meter, period, set_by, limit, used }) => {
    const { label, format } = METER_TEXTS[meter];
    return {
      key: `${meter}/${period}/${set_by}`,
      title: `Quota reached: ${label}`,
      detail: `${format(used)} of ${format(limit)} ${PERIOD_TEXTS[period].per}`,
      at: null,
      to: pathTo(workspace, "/settings/usage"),
    };
  });
}
