import type { World } from "./seed.ts";

export type ConsolePath = {
  /** Name of its pictures. */
  name: string;
  /** Path of the route in `src/console/router.tsx`. */
  route: string;
  /** Below `/console/w/{workspace}`. */
  path: (world: World) => string;
  /** Selector of an element that the page draws with its data. */
  ready: string;
};

/** The pages below a workspace, with the parts of a page that have an address of their own. */
export const CONSOLE_PATHS: ConsolePath[] = [
  { name: "overview", route: "/", path: () => "", ready: ".tbl a" },
  { name: "deployments", route: "/deployments", path: () => "/deployments", ready: ".tbl a" },
  {
    name: "deployment",
    route: "/deployments/$deployment",
    path: ({ deployment }) => `/deployments/${deployment}`,
    ready: "[role=log]",
  },
  {
    name: "deployment-failed",
    route: "/deployments/$deployment",
    path: ({ broken }) => `/deployments/${broken}`,
    ready: "[aria-label='Why it failed']",
  },
  {
    name: "deployment-log",
    route: "/deployments/$deployment",
    path: ({ deployment }) => `/deployments/${deployment}?log=server&range=1h`,
    ready: "[role=log]",
  },
  {
    name: "deployment-settings",
    route: "/deployments/$deployment",
    path: ({ deployment }) => `/deployments/${deployment}?tab=settings`,
    ready: "text=Build on push",
  },
  {
    name: "new-deployment",
    route: "/deployments/new",
    path: () => "/deployments/new",
    ready: "form",
  },
  {
    name: "playground",
    route: "/playground",
    path: ({ deployment, waiting }) => `/playground?deployment=${deployment}&thread=${waiting}`,
    ready: ".ask",
  },
  {
    name: "threads",
    route: "/threads",
    path: ({ deployment }) => `/threads?deployment=${deployment}`,
    ready: ".tbl a",
  },
  {
    name: "thread",
    route: "/threads/$deployment/$thread",
    path: ({ deployment, waiting }) => `/threads/${deployment}/${waiting}`,
    ready: ".ask",
  },
  {
    name: "thread-failed",
    route: "/threads/$deployment/$thread",
    path: ({ deployment, failed }) => `/threads/${deployment}/${failed}?tab=details`,
    ready: "[role=alert]",
  },
  {
    name: "assistants",
    route: "/assistants",
    path: ({ deployment, assistant }) =>
      `/assistants?deployment=${deployment}&assistant=${assistant}`,
    ready: "[aria-label='Versions']",
  },
  {
    name: "crons",
    route: "/crons",
    path: ({ deployment, cron }) => `/crons?deployment=${deployment}&cron=${cron}`,
    ready: "[aria-label='Last firings']",
  },
  {
    name: "store",
    route: "/store",
    path: ({ deployment }) => `/store?deployment=${deployment}&q=mail`,
    ready: "main a",
  },
  {
    name: "traces",
    route: "/traces",
    path: ({ project }) => `/traces?project=${project}&range=1h`,
    ready: ".traces tbody a",
  },
  {
    name: "trace",
    route: "/traces/$trace",
    path: ({ trace }) => `/traces/${trace}`,
    ready: ".span-body .json, .span-body .msg",
  },
  {
    name: "trace-failed",
    route: "/traces/$trace",
    path: ({ failed_trace }) => `/traces/${failed_trace}`,
    ready: ".span-body .json, .span-body .msg",
  },
  {
    name: "trace-feedback",
    route: "/traces/$trace",
    path: ({ failed_trace }) => `/traces/${failed_trace}?span=${failed_trace}&tab=feedback`,
    ready: ".span-body bdi",
  },
  {
    name: "compare",
    route: "/traces/compare",
    path: ({ trace, failed_trace }) => `/traces/compare?a=${trace}&b=${failed_trace}`,
    ready: ".compare-sides .json, .compare-sides .msg",
  },
  {
    name: "monitor",
    route: "/monitor",
    path: ({ project }) => `/monitor?project=${project}&range=1h&group=name`,
    ready: ".mp",
  },
  {
    name: "alerts",
    route: "/monitor/alerts",
    path: ({ alert }) => `/monitor/alerts?alert=${alert}`,
    ready: "dl code",
  },
  { name: "exports", route: "/exports", path: () => "/exports", ready: ".tbl a" },
  {
    name: "export",
    route: "/exports/$export",
    path: (world) => `/exports/${world.export}`,
    ready: "text=rows of",
  },
  {
    name: "schedule",
    route: "/exports/$export",
    path: ({ schedule }) => `/exports/${schedule}`,
    ready: "[aria-label='Windows'] a",
  },
  {
    name: "new-export",
    route: "/exports/new",
    path: ({ project }) => `/exports/new?project=${project}`,
    ready: "aside dd",
  },
  {
    name: "new-destination",
    route: "/exports/destinations/new",
    path: () => "/exports/destinations/new",
    ready: "form",
  },
  {
    name: "connections",
    route: "/connections",
    path: ({ deployment }) => `/connections?agent=${deployment}`,
    ready: "[aria-label='Integrations'] li",
  },
  ...["general", "members", "keys", "webhooks", "usage", "retention", "audit-log"].map(
    (section) => ({
      name: `settings-${section}`,
      route: "/settings/$section",
      path: () => `/settings/${section}`,
      ready: "main .tbl, main .panel li, main dl, main .panel",
    }),
  ),
];
