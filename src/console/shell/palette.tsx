import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useEffect, useId, useState } from "react";
import { useWorkspaceId } from "../api/hooks.ts";
import { pathTo } from "../state/path.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { type PaletteGroup, type PaletteOption, usePaletteGroups } from "./palette-options.ts";

/** Finds waiting threads, deployments, places and actions by their names, and resources by their ids. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const list = useId();
  const { groups, status } = usePaletteGroups(text);
  const options = groups.flatMap((group) => group.options);
  const open = useOpen(onClose);
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key] ?? 0;
    if (step !== 0) {
      event.preventDefault();
      setChosen((options.length + chosen + step) % Math.max(options.length, 1));
    }
    const option = options[chosen];
    if (event.key === "Enter" && option) open(option, event.ctrlKey || event.metaKey);
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
        <div className="h-[min(420px,52vh)] overflow-y-auto py-2">
          <Results list={list} groups={groups} chosen={options[chosen]} onOpen={open} />
          {options.length === 0 && (
            <p className="dim px-4 py-2" role="status">
              {status}
            </p>
          )}
        </div>
        <footer className="hide-m">
          <span>
            <kbd>Enter</kbd>open
          </span>
          <span>
            <kbd>Ctrl Enter</kbd>in a new tab
          </span>
          <span className="push">A pasted id opens what it names</span>
        </footer>
      </div>
    </Dialog>
  );
}

type ResultsProps = {
  list: string;
  groups: PaletteGroup[];
  chosen: PaletteOption | undefined;
  onOpen: (option: PaletteOption, isNewTab: boolean) => void;
};

function Results({ list, groups, chosen, onOpen }: ResultsProps) {
  const all = groups.flatMap(({ options }) => options);
  const chosenId = chosen && `${list}-${all.indexOf(chosen)}`;
  useEffect(() => {
    if (chosenId) document.getElementById(chosenId)?.scrollIntoView({ block: "nearest" });
  }, [chosenId]);
  return (
    <div id={list} role="listbox" aria-label="Results">
      {groups.map(({ name, options }) => (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset is no group of options
        <div key={name} role="group" aria-label={name}>
          <div className="grp" aria-hidden="true">
            {name}
          </div>
          {options.map((option) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field above handles the keys
            <div
              key={option.path}
              id={`${list}-${all.indexOf(option)}`}
              className="opt"
              role="option"
              tabIndex={-1}
              aria-selected={option === chosen}
              onClick={(event) => onOpen(option, event.ctrlKey || event.metaKey)}
            >
              <Icon name={option.icon} />
              <bdi className="cut grow" title={option.label}>
                {option.label}
              </bdi>
              {option.hint && <span className="dim sm nw hide-m">{option.hint}</span>}
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}

function useOpen(onClose: () => void): ResultsProps["onOpen"] {
  const navigate = useNavigate();
  const id = useWorkspaceId();
  return ({ path }, isNewTab) => {
    onClose();
    if (isNewTab) {
      window.open(`/console${pathTo(id, path)}`, "_blank", "noopener");
      return;
    }
    const [page = "", query] = path.split("?");
    const search = Object.fromEntries(new URLSearchParams(query));
    void navigate({ to: pathTo(id, page), search });
  };
}
