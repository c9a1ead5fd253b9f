import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useMe, useWorkspace } from "../api/session.ts";
import { pathTo } from "../state/path.ts";
import { Icon } from "../ui/icon.tsx";
import { GROUPS } from "./places.ts";
import { switchTheme } from "./theme.ts";
import { WorkspaceMenu } from "./workspace-menu.tsx";

type Props = { onPalette: () => void };

export function Rail({ onPalette }: Props) {
  const { id } = useWorkspace();
  return (
    <nav className="rail" aria-label="Sections">
      <WorkspaceMenu />
      <button type="button" className="jump" onClick={onPalette}>
        <Icon name="search" small />
        <span className="txt">Search or jump to</span>
        <kbd>Ctrl K</kbd>
      </button>
      {GROUPS.map(({ name, places }) => (
        <div key={name}>
          {name !== "" && <div className="nav-h">{name}</div>}
          <div className="nav">
            {places.map(({ label, icon, path }) => (
              <Link
                key={path}
                to={pathTo(id, path)}
                activeOptions={{ exact: path === "", includeSearch: false }}
                activeProps={{ "aria-current": "page" }}
              >
                <Icon name={icon} />
                <span className="txt">{label}</span>
              </Link>
            ))}
          </div>
        </div>
      ))}
      <RailFoot />
    </nav>
  );
}

function RailFoot() {
  const { actor } = useMe();
  const { role } = useWorkspace();
  const [theme, setTheme] = useState("");
  return (
    <div className="rail-foot">
      <div className="nav">
        <a href="/docs" target="_blank" rel="noreferrer">
          <Icon name="book" />
          <span className="txt">API reference</span>
        </a>
        <button type="button" onClick={() => setTheme(switchTheme())}>
          <Icon name="sun" />
          <span className="txt">Theme{theme && `: ${theme}`}</span>
        </button>
      </div>
      <div className="who" title={`${actor.name}, ${role}`}>
        <span className="avatar" aria-hidden="true">
          {actor.name.slice(0, 2)}
        </span>
        <span className="txt min-w-0">
          <span className="block cut" title={actor.name}>
            {actor.name}
          </span>
          <span className="block dim">{role}</span>
        </span>
      </div>
    </div>
  );
}
