import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useId, useState } from "react";
import type { DeploymentsList } from "../../control-plane/deployments/schema.ts";
import { useApiQuery, useWorkspaceId } from "../api/hooks.ts";
import { apiPath } from "../api/path.ts";
import { pathTo } from "../state/path.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { PLACES } from "./places.ts";

type Option = { label: string; icon: IconName; path: string; hint?: string };

const MAX_OPTIONS = 12;

/** Places and deployments by name. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const list = useId();
  const options = useOptions(text);
  const open = useOpen(onClose);
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key] ?? 0;
    if (step !== 0) {
      event.preventDefault();
      setChosen((options.length + chosen + step) % Math.max(options.length, 1));
    }
    const option = options[chosen];
    if (event.key === "Enter" && option) open(option.path);
  };
  return (
    <Dialog title="Search or jump to" onClose={onClose}>
      <div className="palette">
        <div className="q">
          <Icon name="search" />
          <input
            aria-label="Search or jump to"
            role="combobox"
            aria-expanded="true"
            aria-controls={list}
            aria-activedescendant={options[chosen] ? `${list}-${chosen}` : undefined}
            autoFocus
            value={text}
            onKeyDown={onKey}
            onChange={(event) => {
              setText(event.target.value);
              setChosen(0);
            }}
          />
        </div>
        <div id={list} role="listbox" aria-label="Results" className="py-2">
          {options.map(({ label, icon, path, hint }, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field above handles the keys
            <div
              key={path}
              id={`${list}-${index}`}
              className="opt"
              role="option"
              tabIndex={-1}
              aria-selected={index === chosen}
              onClick={() => open(path)}
            >
              <Icon name={icon} />
              <span className="cut grow">{label}</span>
              {hint && <span className="dim sm">{hint}</span>}
            </div>
          ))}
        </div>
        {options.length === 0 && (
          <p className="dim px-4 pb-4">No place or deployment has this name.</p>
        )}
      </div>
    </Dialog>
  );
}

function useOptions(text: string): Option[] {
  const { data } = useApiQuery<DeploymentsList>(apiPath`/v2/deployments`, {
    query: { limit: 100 },
  });
  const deployments = (data?.resources ?? []).map(({ id, name }) => {
    return { label: name, icon: "layers", path: `/deployments/${id}`, hint: "Deployment" } as const;
  });
  const places: Option[] = PLACES.map(({ key, ...place }) => ({
    ...place,
    ...(key && { hint: `g ${key}` }),
  }));
  const wanted = text.trim().toLowerCase();
  return [...places, ...deployments]
    .filter(({ label, path }) => `${label} ${path}`.toLowerCase().includes(wanted))
    .slice(0, MAX_OPTIONS);
}

function useOpen(onClose: () => void): (path: string) => void {
  const navigate = useNavigate();
  const id = useWorkspaceId();
  return (path) => {
    onClose();
    void navigate({ to: pathTo(id, path) });
  };
}
