import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { exportSearch } from "../pages/export/search.ts";
import { exportsSearch } from "../pages/exports/search.ts";
import { idParam, type RawSearch, textParam } from "../state/search.ts";
import { requireIds } from "./ids.ts";
import { workspace } from "./root.ts";

/** Fields of the form that a link fills in, and the parameters of the list. Other fields are not in the address. */
const newExportSearch = (search: RawSearch) => ({
  ...exportsSearch(search),
  project: idParam(search, "project"),
  filter: textParam(search, "filter"),
});

const exports = createRoute({
  getParentRoute: () => workspace,
  path: "/exports",
  validateSearch: exportsSearch,
  component: lazyRouteComponent(() => import("../pages/exports/page.tsx"), "ExportsPage"),
});

const oneExport = createRoute({
  getParentRoute: () => workspace,
  path: "/exports/$export",
  beforeLoad: ({ params }) => requireIds(params.export),
  validateSearch: exportSearch,
  component: lazyRouteComponent(() => import("../pages/export/page.tsx"), "ExportPage"),
});

const newExport = createRoute({
  getParentRoute: () => workspace,
  path: "/exports/new",
  validateSearch: newExportSearch,
  component: lazyRouteComponent(() => import("../pages/new-export/page.tsx"), "NewExportPage"),
});

const newDestination = createRoute({
  getParentRoute: () => workspace,
  path: "/exports/destinations/new",
  component: lazyRouteComponent(
    () => import("../pages/new-destination/page.tsx"),
    "NewDestinationPage",
  ),
});

/** Pages of exports. */
export const exportRoutes = [exports, oneExport, newExport, newDestination];
