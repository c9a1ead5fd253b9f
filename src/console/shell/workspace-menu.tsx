import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useId, useRef } from "react";
import { signOut, useMe, useWorkspace } from "../api/session.ts";
import { pathTo } from "../state/path.ts";
import { switchZone, ZONE } from "../state/time-zone.ts";
import { InlineError } from "../ui/blocks/inline-error.tsx";
import { Icon } from "../ui/icon.tsx";

export function WorkspaceMenu() {
  const { workspaces, region, regions } = useMe();
  const { id, name } = useWorkspace();
  const menu = useId();
  const ref = useRef<HTMLDivElement>(null);
  const leave = useSignOut();
  return (
    <>
      <button type="button" className="ws" popoverTarget={menu}>
        <Icon name="mark" className="mark" />
        <span className="sr">Workspace</span>
        <span className="txt cut">{name}</span>
        {region !== null && <span className="tag region">{region}</span>}
        <Icon name="up-down" small className={region === null ? "push" : ""} />
      </button>
      <div id={menu} ref={ref} popover="auto" className="pop ws-menu">
        {workspaces.map((workspace) => (
          <Link
            key={workspace.id}
            to={pathTo(workspace.id, "")}
            className="opt"
            aria-current={workspace.id === id || undefined}
            onClick={() => ref.current?.hidePopover()}
          >
            <span className="cut grow">{workspace.name}</span>
            <span className="dim">{workspace.role}</span>
            {workspace.id === id && <Icon name="check" small />}
          </Link>
        ))}
        {regions.map(({ name, url }) => (
          <a
            key={name}
            className="opt"
            href={`${url}/console/`}
            aria-current={url === location.origin || undefined}
          >
            <span className="grow">Region {name}</span>
            {url === location.origin ? (
              <Icon name="check" small />
            ) : (
              <span className="dim">signs in again</span>
            )}
          </a>
        ))}
        <button type="button" className="opt" onClick={showOtherZone}>
          Times in {ZONE}
        </button>
        <button type="button" className="opt" onClick={() => leave.mutate()}>
          Sign out
        </button>
        <InlineError error={leave.error} />
      </div>
    </>
  );
}

/** Loads the page again: modules read the time zone once. */
function showOtherZone(): void {
  switchZone();
  location.reload();
}

function useSignOut() {
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: signOut,
    onSuccess: () => {
      client.clear();
      // The storage of the tab has drafts and lists of the person who signs out.
      sessionStorage.clear();
      return navigate({ to: "/login" });
    },
  });
}
