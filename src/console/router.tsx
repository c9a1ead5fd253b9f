import { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import { ApiError } from "./api/errors.ts";
import { meQuery } from "./api/session.ts";
import { assistantsSearch } from "./pages/assistants/search.ts";
import { connectionsSearch } from "./pages/connections/search.ts";
import { cronsSearch } from "./pages/crons/search.ts";
import { deploymentSearch } from "./pages/deployment/search.ts";
import { exportSearch } from "./pages/export/search.ts";
import { exportsSearch } from "./pages/exports/search.ts";
import { monitorSearch } from "./pages/monitor/search.ts";
import { newExportSearch } from "./pages/new-export/search.ts";
import { playgroundSearch } from "./pages/playground/search.ts";
import { settingsSearch } from "./pages/settings/frame/search.ts";
import { storeSearch } from "./pages/store/search.ts";
import { threadSearch } from "./pages/thread/search.ts";
import { threadsSearch } from "./pages/threads/search.ts";
import { traceSearch } from "./pages/trace/model/search.ts";
import { tracesSearch } from "./pages/traces/model/search.ts";
import { RouteFailure, RouteNotFound } from "./shell/failures.tsx";
import { Shell } from "./shell/shell.tsx";
import { textParam } from "./state/search.ts";

const CLIENT_ERROR = 500;
const MAX_RETRIES = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      refetchIntervalInBackground: false,
      staleTime: 1000,
      // Repeats what may pass by itself; a refusal is shown at once.
      retry: (count, error) =>
        count < MAX_RETRIES && !(error instanceof ApiError && error.status < CLIENT_ERROR),
    },
  },
});

const root = createRootRouteWithContext<{ queryClient: QueryClient }>()();

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: (search): { to?: string | undefined; problem?: string | undefined } => ({
    to: textParam(search, "to"),
    problem: textParam(search, "problem"),
  }),
  component: lazyRouteComponent(() => import("./pages/login/page.tsx"), "LoginPage"),
});

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: async ({ context }) => {
    const { workspaces } = await loadMe(context.queryClient, "/");
    const [first] = workspaces;
    if (first) throw redirect({ to: "/w/$workspace", params: { workspace: first.id } });
  },
  component: lazyRouteComponent(() => import("./pages/login/page.tsx"), "NoWorkspacePage"),
});

const workspace = createRoute({
  getParentRoute: () => root,
  path: "/w/$workspace",
  beforeLoad: async ({ context, location }) => {
    await loadMe(context.queryClient, location.href);
  },
  component: Shell,
});

async function loadMe(client: QueryClient, to: string) {
  try {
    return await client.ensureQueryData(meQuery);
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      throw redirect({ to: "/login", search: { to } });
    }
    throw error;
  }
}

const overview = createRoute({
  getParentRoute: () => workspace,
  path: "/",
  component: lazyRouteComponent(() => import("./pages/overview/page.tsx"), "OverviewPage"),
});

const deployments = createRoute({
  getParentRoute: () => workspace,
  path: "/deployments",
  validateSearch: (search): { q?: string | undefined } => ({ q: textParam(search, "q") }),
  component: lazyRouteComponent(() => import("./pages/deployments/page.tsx"), "DeploymentsPage"),
});

const deployment = createRoute({
  getParentRoute: () => workspace,
  path: "/deployments/$deployment",
  validateSearch: deploymentSearch,
  component: lazyRouteComponent(() => import("./pages/deployment/page.tsx"), "DeploymentPage"),
});

const newDeployment = createRoute({
  getParentRoute: () => workspace,
  path: "/deployments/new",
  component: lazyRouteComponent(
    () => import("./pages/new-deployment/page.tsx"),
    "NewDeploymentPage",
  ),
});

const traces = createRoute({
  getParentRoute: () => workspace,
  path: "/traces",
  validateSearch: tracesSearch,
  component: lazyRouteComponent(() => import("./pages/traces/page.tsx"), "TracesPage"),
});

const trace = createRoute({
  getParentRoute: () => workspace,
  path: "/traces/$trace",
  validateSearch: traceSearch,
  component: lazyRouteComponent(() => import("./pages/trace/page.tsx"), "TracePage"),
});

const compare = createRoute({
  getParentRoute: () => workspace,
  path: "/traces/compare",
  validateSearch: (search): { a?: string | undefined; b?: string | undefined } => ({
    a: textParam(search, "a"),
    b: textParam(search, "b"),
  }),
  component: lazyRouteComponent(() => import("./pages/compare/page.tsx"), "ComparePage"),
});

const monitor = createRoute({
  getParentRoute: () => workspace,
  path: "/monitor",
  validateSearch: monitorSearch,
  component: lazyRouteComponent(() => import("./pages/monitor/page.tsx"), "MonitorPage"),
});

const observe = [traces, trace, compare, monitor];

const threads = createRoute({
  getParentRoute: () => workspace,
  path: "/threads",
  validateSearch: threadsSearch,
  component: lazyRouteComponent(() => import("./pages/threads/page.tsx"), "ThreadsPage"),
});

const thread = createRoute({
  getParentRoute: () => workspace,
  path: "/threads/$deployment/$thread",
  validateSearch: threadSearch,
  component: lazyRouteComponent(() => import("./pages/thread/page.tsx"), "ThreadPage"),
});

const playground = createRoute({
  getParentRoute: () => workspace,
  path: "/playground",
  validateSearch: playgroundSearch,
  component: lazyRouteComponent(() => import("./pages/playground/page.tsx"), "PlaygroundPage"),
});

const agents = [threads, thread, playground];

const exports = createRoute({
  getParentRoute: () => workspace,
  path: "/exports",
  validateSearch: exportsSearch,
  component: lazyRouteComponent(() => import("./pages/exports/page.tsx"), "ExportsPage"),
});

const oneExport = createRoute({
  getParentRoute: () => workspace,
  path: "/exports/$export",
  validateSearch: exportSearch,
  component: lazyRouteComponent(() => import("./pages/export/page.tsx"), "ExportPage"),
});

const newExport = createRoute({
  getParentRoute: () => workspace,
  path: "/exports/new",
  validateSearch: newExportSearch,
  component: lazyRouteComponent(() => import("./pages/new-export/page.tsx"), "NewExportPage"),
});

const newDestination = createRoute({
  getParentRoute: () => workspace,
  path: "/exports/destinations/new",
  component: lazyRouteComponent(
    () => import("./pages/new-destination/page.tsx"),
    "NewDestinationPage",
  ),
});

const crons = createRoute({
  getParentRoute: () => workspace,
  path: "/crons",
  validateSearch: cronsSearch,
  component: lazyRouteComponent(() => import("./pages/crons/page.tsx"), "CronsPage"),
});

const assistants = createRoute({
  getParentRoute: () => workspace,
  path: "/assistants",
  validateSearch: assistantsSearch,
  component: lazyRouteComponent(() => import("./pages/assistants/page.tsx"), "AssistantsPage"),
});

const store = createRoute({
  getParentRoute: () => workspace,
  path: "/store",
  validateSearch: storeSearch,
  component: lazyRouteComponent(() => import("./pages/store/page.tsx"), "StorePage"),
});

const settings = createRoute({
  getParentRoute: () => workspace,
  path: "/settings/$section",
  validateSearch: settingsSearch,
  component: lazyRouteComponent(() => import("./pages/settings/page.tsx"), "SettingsPage"),
});

const connections = createRoute({
  getParentRoute: () => workspace,
  path: "/connections",
  validateSearch: connectionsSearch,
  component: lazyRouteComponent(() => import("./pages/connections/page.tsx"), "ConnectionsPage"),
});

const exporting = [exports, oneExport, newExport, newDestination];
const running = [crons, assistants, store];
const settled = [settings, connections];

const routeTree = root.addChildren([
  login,
  home,
  workspace.addChildren([
    overview,
    deployments,
    deployment,
    newDeployment,
    ...agents,
    ...observe,
    ...exporting,
    ...running,
    ...settled,
  ]),
]);

export const router = createRouter({
  routeTree,
  basepath: "/console",
  context: { queryClient },
  defaultPreload: "intent",
  defaultNotFoundComponent: RouteNotFound,
  defaultErrorComponent: RouteFailure,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
