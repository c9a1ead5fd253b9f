import { Outlet, useLocation, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from "react";
import { useWorkspaceId } from "../api/hooks.ts";
import { useMe } from "../api/session.ts";
import { Empty } from "../ui/panel.tsx";
import { Skeleton } from "../ui/states.tsx";
import { Toasts } from "../ui/toasts.tsx";
import { useGlobalKeys } from "./keys.ts";
import { Rail } from "./rail.tsx";
import { TabBar } from "./tab-bar.tsx";
import { TopBarSlot } from "./top-bar.tsx";

const Palette = lazy(() => import("./palette.tsx").then(({ Palette: all }) => ({ default: all })));
const KeyHelp = lazy(() => import("./key-help.tsx").then(({ KeyHelp: all }) => ({ default: all })));

const RAIL_KEY = "heddle-rail";
/** Pages of two columns, which need the width: their rail is slim unless it was widened. */
const WIDE_PAGES = /\/(threads|traces)\/.|\/playground$/;

export function Shell() {
  const id = useWorkspaceId();
  const { workspaces } = useMe();
  if (workspaces.some((workspace) => workspace.id === id)) return <Frame key={id} />;
  return (
    <main>
      <Empty title="No such workspace" action={<a href="/console/">Open your workspaces</a>}>
        No workspace of yours has the id <code className="break-all">{id}</code>. It was deleted, or
        an admin must add you to it.
      </Empty>
    </main>
  );
}

function Frame() {
  const [overlay, setOverlay] = useState<"palette" | "help" | null>(null);
  const [rail, setRail] = useState(localStorage.getItem(RAIL_KEY));
  const isNarrow = useMedia("(max-width: 1100px)");
  const isWide = WIDE_PAGES.test(useLocation().pathname);
  const openPalette = useCallback(() => setOverlay("palette"), []);
  const openHelp = useCallback(() => setOverlay("help"), []);
  const isSlim = rail === "slim" || (isWide && rail !== "wide");
  const switchRail = useCallback(() => {
    const next = isSlim ? "wide" : "slim";
    localStorage.setItem(RAIL_KEY, next);
    setRail(next);
  }, [isSlim]);
  useGlobalKeys({ onPalette: openPalette, onHelp: openHelp, onRail: switchRail });
  useFocusAfterNavigation();
  const close = () => setOverlay(null);
  return (
    <Toasts>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <div className={`app ${isSlim || isNarrow ? "slim" : ""}`}>
        <Rail onPalette={openPalette} />
        <div className="stage">
          <TopBarSlot>
            {(slot) => (
              <>
                {slot}
                <main className="main" id="main">
                  <Suspense fallback={<Skeleton />}>
                    <Outlet />
                  </Suspense>
                </main>
              </>
            )}
          </TopBarSlot>
        </div>
      </div>
      <TabBar onPalette={openPalette} />
      <Suspense>
        {overlay === "palette" && <Palette onClose={close} />}
        {overlay === "help" && <KeyHelp onClose={close} />}
      </Suspense>
    </Toasts>
  );
}

/** Moves the focus to the heading, as a document that loads would. */
function useFocusAfterNavigation(): void {
  const pathname = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  const former = useRef(pathname);
  useEffect(() => {
    const isFirst = former.current === undefined;
    if (former.current === pathname) return;
    former.current = pathname;
    return isFirst ? undefined : keepFocusOnHeading();
  }, [pathname]);
}

/**
 * Focuses the heading once it exists: it arrives with the code of its page or with its data. The first key or click ends
 * the wait.
 */
function keepFocusOnHeading(): () => void {
  const leave = new AbortController();
  let hadFocus = false;
  const focus = () => {
    const heading = document.querySelector<HTMLElement>("#main h1");
    if (!heading || (hadFocus && document.activeElement !== document.body)) return;
    hadFocus = true;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  };
  const observer = new MutationObserver(focus);
  observer.observe(document.body, { childList: true, subtree: true });
  leave.signal.addEventListener("abort", () => observer.disconnect());
  for (const event of ["pointerdown", "keydown"])
    addEventListener(event, () => leave.abort(), { signal: leave.signal, capture: true });
  focus();
  return () => leave.abort();
}

function useMedia(text: string): boolean {
  const [matches, setMatches] = useState(matchMedia(text).matches);
  useEffect(() => {
    const query = matchMedia(text);
    const notice = () => setMatches(query.matches);
    query.addEventListener("change", notice);
    return () => query.removeEventListener("change", notice);
  }, [text]);
  return matches;
}
