export type SavedView = { name: string; href: string };

const MAX_VIEWS = 30;

function keyOf(workspace: string): string {
  return `heddle-trace-views-${workspace}`;
}

/** Returns the stored views. Ignores other values in the storage. */
export function readViews(workspace: string): SavedView[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(keyOf(workspace)) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isView) : [];
  } catch {
    return [];
  }
}

function isView(value: SavedView | null): boolean {
  return typeof value?.name === "string" && /^\/w\/[^/]+\/traces/.test(String(value.href));
}

/** Replaces the view of the same name. */
export function addView(workspace: string, view: SavedView): SavedView[] {
  const others = readViews(workspace).filter(({ name }) => name !== view.name);
  return write(workspace, [...others, view].slice(-MAX_VIEWS));
}

export function removeView(workspace: string, name: string): SavedView[] {
  return write(
    workspace,
    readViews(workspace).filter((view) => view.name !== name),
  );
}

function write(workspace: string, views: SavedView[]): SavedView[] {
  localStorage.setItem(keyOf(workspace), JSON.stringify(views));
  return views;
}
