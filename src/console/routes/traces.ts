import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { monitorSearch } from "../pages/monitor/search.ts";
import { traceSearch } from "../pages/trace/model/search.ts";
import { idParam } from "../state/search.ts";
import { tracesSearch } from "../traces/search.ts";
import { requireIds } from "./ids.ts";
import { workspace } from "./root.ts";

const traces = createRoute({
  getParentRoute: () => workspace,
  path: "/traces",
  validateSearch: tracesSearch,
  component: lazyRouteComponent(() => import("../pages/traces/page.tsx"), "TracesPage"),
});

const trace = createRoute({
  getParentRoute: () => workspace,
  path: "/traces/$trace",
  beforeLoad: ({ params }) => requireIds(params.trace),
  validateSearch: traceSearch,
  component: lazyRouteComponent(() => import("../pages/trace/page.tsx"), "TracePage"),
});

const compare = createRoute({
  getParentRoute: () => workspace,
  path: "/traces/compare",
  validateSearch: (search): { a?: string | undefined; b?: string | undefined } => ({
    a: idParam(search, "a"),
    b: idParam(search, "b"),
  }),
  component: lazyRouteComponent(() => import("../pages/compare/page.tsx"), "ComparePage"),
});

const monitor = createRoute({
  getParentRoute: () => workspace,
  path: "/monitor",
  validateSearch: monitorSearch,
  component: lazyRouteComponent(() => import("../pages/monitor/page.tsx"), "MonitorPage"),
});

const alerts = createRoute({
  getParentRoute: () => workspace,
  path: "/monitor/alerts",
  validateSearch: (search): { alert?: string | undefined } => ({
    alert: idParam(search, "alert"),
  }),
  component: lazyRouteComponent(() => import("../pages/alerts/page.tsx"), "AlertsPage"),
});

/** Pages of traces. */
export const traceRoutes = [traces, trace, compare, monitor, alerts];
