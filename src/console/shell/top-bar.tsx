import { Link } from "@tanstack/react-router";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { createPortal } from "react-dom";
import { useWorkspace } from "../api/session.ts";
import { pathTo } from "../state/path.ts";

type Crumb = { label: string; path: string; search?: Record<string, unknown> };

const SlotContext = createContext<HTMLElement | null>(null);

/** Draws the header into which the `TopBar` of a page is portalled: pages are drawn below it, in `main`. */
export function TopBarSlot({ children }: { children: (slot: ReactNode) => ReactNode }) {
  const [element, setElement] = useState<HTMLElement | null>(null);
  const slot = <header className="top" ref={setElement} />;
  return <SlotContext value={element}>{children(slot)}</SlotContext>;
}

type Props = {
  /** Pages above this one, below the workspace. */
  above?: Crumb[];
  title: string;
  /** The live pill and the view actions of the page. */
  children?: ReactNode;
};

/** Names the page in the top bar and in the browser's tab. */
export function TopBar({ above = [], title, children }: Props) {
  const slot = useContext(SlotContext);
  const { id, name } = useWorkspace();
  useEffect(() => {
    document.title = `${title} - Heddle`;
  }, [title]);
  if (slot === null) return null;
  const crumbs: Crumb[] = [{ label: name, path: "" }, ...above];
  return createPortal(
    <>
      <nav aria-label="Breadcrumb" className="min-w-0">
        <ol className="crumbs">
          {crumbs.map(({ label, path, search }) => (
            <li key={path}>
              <Link
                to={pathTo(id, path)}
                {...(search && { search })}
                activeOptions={{ exact: true, includeSearch: false }}
                className="cut"
              >
                {label}
              </Link>
              <span className="sep" aria-hidden="true">
                /
              </span>
            </li>
          ))}
          <li>
            <span aria-current="page" title={title}>
              {title}
            </span>
          </li>
        </ol>
      </nav>
      <div className="end">{children}</div>
    </>,
    slot,
  );
}
