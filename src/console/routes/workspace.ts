import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { deploymentSearch } from "../pages/deployment/search.ts";
import { settingsSearch } from "../pages/settings/frame/search.ts";
import { numberParam, textParam } from "../state/search.ts";
import { requireIds } from "./ids.ts";
import { workspace } from "./root.ts";

const overview = createRoute({
  getParentRoute: () => workspace,
  path: "/",
  component: lazyRouteComponent(() => import("../pages/overview/page.tsx"), "OverviewPage"),
});

const deployments = createRoute({
  getParentRoute: () => workspace,
  path: "/deployments",
  validateSearch: (search): { q?: string | undefined; offset?: number | undefined } => ({
    q: textParam(search, "q"),
    offset: numberParam(search, "offset"),
  }),
  component: lazyRouteComponent(() => import("../pages/deployments/page.tsx"), "DeploymentsPage"),
});

const deployment = createRoute({
  getParentRoute: () => workspace,
  path: "/deployments/$deployment",
  beforeLoad: ({ params }) => requireIds(params.deployment),
  validateSearch: deploymentSearch,
  component: lazyRouteComponent(() => import("../pages/deployment/page.tsx"), "DeploymentPage"),
});

const newDeployment = createRoute({
  getParentRoute: () => workspace,
  path: "/deployments/new",
  component: lazyRouteComponent(
    () => import("../pages/new-deployment/page.tsx"),
    "NewDeploymentPage",
  ),
});

const settings = createRoute({
  getParentRoute: () => workspace,
  path: "/settings/$section",
  validateSearch: settingsSearch,
  component: lazyRouteComponent(() => import("../pages/settings/page.tsx"), "SettingsPage"),
});

/** Pages of a workspace and its deployments. */
export const workspaceRoutes = [overview, deployments, deployment, newDeployment, settings];
