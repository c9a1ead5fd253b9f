import { QueryClient } from "@tanstack/react-query";
import { createRouter, type ErrorComponentProps, Link } from "@tanstack/react-router";
import { ApiError } from "./api/errors.ts";
import { agentRoutes } from "./routes/agents.ts";
import { exportRoutes } from "./routes/exports.ts";
import { home, login, root, workspace } from "./routes/root.ts";
import { traceRoutes } from "./routes/traces.ts";
import { workspaceRoutes } from "./routes/workspace.ts";
import { Empty } from "./ui/panel.tsx";
import { ErrorState } from "./ui/states.tsx";

const FIRST_SERVER_ERROR = 500;
const MAX_RETRIES = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      refetchIntervalInBackground: false,
      staleTime: 1000,
      // Retries failures of the network and of the service. A refusal would be the same again.
      retry: (count, error) =>
        count < MAX_RETRIES && !(error instanceof ApiError && error.status < FIRST_SERVER_ERROR),
    },
    // Fails at once without a network. A change that waits for it could run after the person has given it up.
    mutations: { networkMode: "always" },
  },
});

const routeTree = root.addChildren([
  login,
  home,
  workspace.addChildren([...workspaceRoutes, ...agentRoutes, ...traceRoutes, ...exportRoutes]),
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

function RouteFailure({ error, reset }: ErrorComponentProps) {
  return (
    <div className="main">
      <ErrorState
        what="This page failed"
        error={error instanceof Error ? error : new Error(String(error))}
        retry={reset}
      />
    </div>
  );
}

function RouteNotFound() {
  return (
    <Empty title="No such page" action={<Link to="/">Open the overview</Link>}>
      The address names no page of the console.
    </Empty>
  );
}
