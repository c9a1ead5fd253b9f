import { useLocation } from "@tanstack/react-router";
import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { useWorkspaceId } from "../../../api/hooks.ts";
import { CopyButton } from "../../../ui/copy-button.tsx";
import { Icon } from "../../../ui/icon.tsx";
import { addView, readViews, removeView, type SavedView } from "./view-store.ts";

/** Saves addresses of the list under names, in this browser. A copied link shows the same view to other people. */
export function SavedViews() {
  const workspace = useWorkspaceId();
  const [views, setViews] = useState(() => readViews(workspace));
  const id = useId();
  const menu = useRef<HTMLDivElement>(null);
  const { href } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a view that is opened closes the menu
  useEffect(() => menu.current?.hidePopover(), [href]);
  return (
    <>
      <button type="button" className="btn" popoverTarget={id}>
        Views
      </button>
      <div ref={menu} id={id} popover="auto" className="pop views">
        <ul>
          {views.map((view) => (
            <Item
              key={view.name}
              view={view}
              onRemove={() => setViews(removeView(workspace, view.name))}
            />
          ))}
        </ul>
        {views.length === 0 && <p className="dim sm px-2 py-1">No saved views in this browser.</p>}
        <SaveForm href={href} onSave={(view) => setViews(addView(workspace, view))} />
        <div className="px-1">
          <CopyButton text={() => location.href} label="Copy the link to this view" showLabel />
        </div>
      </div>
    </>
  );
}

function Item({ view: { name, href }, onRemove }: { view: SavedView; onRemove: () => void }) {
  return (
    <li className="row">
      <a href={`/console${href}`} className="opt grow">
        <bdi className="cut">{name}</bdi>
      </a>
      <button
        type="button"
        className="btn ghost icon sm"
        aria-label={`Remove the view ${name}`}
        onClick={onRemove}
      >
        <Icon name="close" small />
      </button>
    </li>
  );
}

function SaveForm({ href, onSave }: { href: string; onSave: (view: SavedView) => void }) {
  const [name, setName] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() === "") return;
    onSave({ name: name.trim(), href });
    setName("");
  };
  return (
    <form className="row p-1" onSubmit={submit}>
      <input
        className="in"
        aria-label="Name of the view"
        placeholder="Name of this view"
        maxLength={80}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <button type="submit" className="btn sm">
        Save view
      </button>
    </form>
  );
}
