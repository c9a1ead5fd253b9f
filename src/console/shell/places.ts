import type { IconName } from "../ui/icon.tsx";

type NavigationPage = {
  label: string;
  icon: IconName;
  /** Below `/w/{workspace}`. */
  path: string;
  /** The key after `g`. */
  key?: string;
};

type Group = { name: string; places: NavigationPage[] };

/** The pages of the navigation. The rail, the tab bar, the palette and the keys are built from this list. */
export const GROUPS: Group[] = [
  { name: "", places: [{ label: "Overview", icon: "home", path: "", key: "o" }] },
  {
    name: "Build",
    places: [
      { label: "Deployments", icon: "layers", path: "/deployments", key: "d" },
      { label: "Playground", icon: "play", path: "/playground", key: "p" },
    ],
  },
  {
    name: "Run",
    places: [
      { label: "Threads", icon: "thread", path: "/threads", key: "t" },
      { label: "Assistants", icon: "bot", path: "/assistants" },
      { label: "Crons", icon: "clock", path: "/crons" },
      { label: "Store", icon: "store", path: "/store" },
    ],
  },
  {
    name: "Observe",
    places: [
      { label: "Traces", icon: "trace", path: "/traces", key: "r" },
      { label: "Monitor", icon: "chart", path: "/monitor", key: "m" },
      { label: "Exports", icon: "export", path: "/exports", key: "e" },
    ],
  },
  {
    name: "Workspace",
    places: [
      { label: "Connections", icon: "plug", path: "/connections" },
      { label: "Settings", icon: "gear", path: "/settings/general" },
    ],
  },
];

export const PLACES: NavigationPage[] = GROUPS.flatMap(({ places }) => places);
