import { Link } from "@tanstack/react-router";
import { useWorkspace } from "../api/session.ts";
import { pathTo } from "../state/path.ts";
import { Icon } from "../ui/icon.tsx";
import { PLACES } from "./places.ts";

/** Short names of the pages in the bar of a phone, by path. The palette has all others. */
const TABS: Record<string, string> = {
  "": "Overview",
  "/deployments": "Deploy",
  "/threads": "Threads",
  "/traces": "Traces",
};

export function TabBar({ onPalette }: { onPalette: () => void }) {
  const { id } = useWorkspace();
  return (
    <nav className="tabbar" aria-label="Sections">
      {PLACES.filter(({ path }) => path in TABS).map(({ icon, path }) => (
        <Link
          key={path}
          to={pathTo(id, path)}
          activeOptions={{ exact: path === "", includeSearch: false }}
          activeProps={{ "aria-current": "page" }}
        >
          <Icon name={icon} />
          {TABS[path]}
        </Link>
      ))}
      <button type="button" onClick={onPalette}>
        <Icon name="menu" />
        More
      </button>
    </nav>
  );
}
