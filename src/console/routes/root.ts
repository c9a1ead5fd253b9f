import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import { ApiError } from "../api/errors.ts";
import { meQuery } from "../api/session.ts";
import { Shell } from "../shell/shell.tsx";
import { textParam } from "../state/search.ts";
import { requireIds } from "./ids.ts";

export const root = createRootRouteWithContext<{ queryClient: QueryClient }>()();

export const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: (search): { to?: string | undefined; problem?: string | undefined } => ({
    to: textParam(search, "to"),
    problem: textParam(search, "problem"),
  }),
  component: lazyRouteComponent(() => import("../pages/login/page.tsx"), "LoginPage"),
});

export const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: async ({ context }) => {
    const { workspaces } = await loadMe(context.queryClient, "/");
    const [first] = workspaces;
    if (first) throw redirect({ to: "/w/$workspace", params: { workspace: first.id } });
  },
  component: lazyRouteComponent(() => import("../pages/login/page.tsx"), "NoWorkspacePage"),
});

export const workspace = createRoute({
  getParentRoute: () => root,
  path: "/w/$workspace",
  beforeLoad: async ({ context, location, params }) => {
    requireIds(params.workspace);
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
