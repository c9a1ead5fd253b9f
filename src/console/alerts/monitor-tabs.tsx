import { Link } from "@tanstack/react-router";
import type { AlertList } from "../../control-plane/alerts/alert-schema.ts";
import { useApiQuery, useWorkspaceId } from "../api/hooks.ts";
import { apiPath } from "../api/path.ts";
import { pathTo } from "../state/path.ts";

export const ALERTS = apiPath`/v1/alerts`;
const POLL_MS = 10_000;

/** Charts and alerts, with the number of alerts that fire. */
export function MonitorTabs() {
  const workspace = useWorkspaceId();
  const { data } = useApiQuery<AlertList>(ALERTS, { poll: POLL_MS });
  const firing = data?.alerts.filter(({ status }) => status === "firing").length ?? 0;
  const link = { activeOptions: { exact: true, includeSearch: false } };
  return (
    <nav className="tabs" aria-label="Monitor">
      <Link to={pathTo(workspace, "/monitor")} {...link} activeProps={{ "aria-current": "page" }}>
        Charts
      </Link>
      <Link
        to={pathTo(workspace, "/monitor/alerts")}
        {...link}
        activeProps={{ "aria-current": "page" }}
      >
        Alerts
        {firing > 0 && (
          <span className="count wait">
            {firing} <span className="sr">firing</span>
          </span>
        )}
      </Link>
    </nav>
  );
}
