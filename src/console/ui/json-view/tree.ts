/** Names of each object, which `Object.keys` would list again for each child. */
const NAMES = new WeakMap<object, string[]>();

export function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

export function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return isContainer(value) ? namesOf(value).length : 0;
}

/** @returns `null` for an item of an array */
export function nameOf(parent: unknown, index: number): string | null {
  if (Array.isArray(parent) || !isContainer(parent)) return null;
  return namesOf(parent)[index] ?? null;
}

export function childOf(parent: unknown, index: number): unknown {
  if (Array.isArray(parent)) return parent[index];
  const name = nameOf(parent, index);
  return name === null ? undefined : (parent as Record<string, unknown>)[name];
}

export function childId(id: string, index: number): string {
  return `${id}/${index}`;
}

function namesOf(value: object): string[] {
  const known = NAMES.get(value);
  if (known) return known;
  const names = Object.keys(value);
  NAMES.set(value, names);
  return names;
}
