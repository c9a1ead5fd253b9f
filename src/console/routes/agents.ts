import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { playgroundSearch } from "../pages/playground/search.ts";
import { storeSearch } from "../pages/store/search.ts";
import { threadsSearch } from "../pages/threads/search.ts";
import { choiceParam, idParam, numberParam, type RawSearch, textParam } from "../state/search.ts";
import { requireAgent, requireIds } from "./ids.ts";
import { workspace } from "./root.ts";

type ThreadPageSearch = {
  /** Id of the checkpoint that is shown, absent for the current state. */
  cp?: string | undefined;
  tab?: "details" | undefined;
};

function threadSearch(search: RawSearch): ThreadPageSearch {
  return {
    cp: textParam(search, "cp"),
    tab: choiceParam(search, "tab", ["details"]),
  };
}

/** The deployment whose crons are listed, the chosen cron, and the first row of the list. */
type CronsSearch = {
  deployment?: string | undefined;
  cron?: string | undefined;
  offset?: number | undefined;
};

function cronsSearch(search: RawSearch): CronsSearch {
  return {
    deployment: idParam(search, "deployment"),
    cron: idParam(search, "cron"),
    offset: numberParam(search, "offset"),
  };
}

type AssistantsSearch = {
  deployment?: string | undefined;
  assistant?: string | undefined;
  /** The version whose configuration is shown. */
  version?: number | undefined;
  q?: string | undefined;
  offset?: number | undefined;
};

function assistantsSearch(search: RawSearch): AssistantsSearch {
  return {
    deployment: idParam(search, "deployment"),
    assistant: textParam(search, "assistant"),
    version: numberParam(search, "version"),
    q: textParam(search, "q"),
    offset: numberParam(search, "offset"),
  };
}

/** Id of the agent whose connections are shown. */
type ConnectionsSearch = { agent?: string | undefined };

function connectionsSearch(search: RawSearch): ConnectionsSearch {
  return { agent: textParam(search, "agent") };
}

const threads = createRoute({
  getParentRoute: () => workspace,
  path: "/threads",
  validateSearch: threadsSearch,
  component: lazyRouteComponent(() => import("../pages/threads/page.tsx"), "ThreadsPage"),
});

const thread = createRoute({
  getParentRoute: () => workspace,
  path: "/threads/$deployment/$thread",
  beforeLoad: ({ params }) => {
    requireAgent(params.deployment);
    requireIds(params.thread);
  },
  validateSearch: threadSearch,
  component: lazyRouteComponent(() => import("../pages/thread/page.tsx"), "ThreadPage"),
});

const playground = createRoute({
  getParentRoute: () => workspace,
  path: "/playground",
  validateSearch: playgroundSearch,
  component: lazyRouteComponent(() => import("../pages/playground/page.tsx"), "PlaygroundPage"),
});

const crons = createRoute({
  getParentRoute: () => workspace,
  path: "/crons",
  validateSearch: cronsSearch,
  component: lazyRouteComponent(() => import("../pages/crons/page.tsx"), "CronsPage"),
});

const assistants = createRoute({
  getParentRoute: () => workspace,
  path: "/assistants",
  validateSearch: assistantsSearch,
  component: lazyRouteComponent(() => import("../pages/assistants/page.tsx"), "AssistantsPage"),
});

const store = createRoute({
  getParentRoute: () => workspace,
  path: "/store",
  validateSearch: storeSearch,
  component: lazyRouteComponent(() => import("../pages/store/page.tsx"), "StorePage"),
});

const connections = createRoute({
  getParentRoute: () => workspace,
  path: "/connections",
  validateSearch: connectionsSearch,
  component: lazyRouteComponent(() => import("../pages/connections/page.tsx"), "ConnectionsPage"),
});

/** Pages of threads and of the other resources of agents. */
export const agentRoutes = [threads, thread, playground, crons, assistants, store, connections];
