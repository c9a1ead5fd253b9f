import { isFields, toJson } from "./fields.ts";

export type Change = {
  /** Keys and indexes from the root, such as `order.items.0`. */
  path: string;
  /** `undefined` when the value was added. */
  before: unknown;
  /** `undefined` when the value was removed. */
  after: unknown;
};

const MAX_DEPTH = 6;

/** @returns the changes between two JSON values, at most `max`, and whether there are more */
export function diffOf(before: unknown, after: unknown, max = 100) {
  const changes: Change[] = [];
  collect({ before, after, path: [] }, changes, max + 1);
  return { changes: changes.slice(0, max), hasMore: changes.length > max };
}

type Pair = { before: unknown; after: unknown; path: string[] };

function collect({ before, after, path }: Pair, changes: Change[], max: number): void {
  if (changes.length >= max || Object.is(before, after)) return;
  const keys = path.length < MAX_DEPTH ? keysOf(before, after) : null;
  if (keys === null) {
    if (toJson(before) !== toJson(after)) changes.push({ path: path.join("."), before, after });
    return;
  }
  for (const key of keys) {
    const pair = { before: valueAt(before, key), after: valueAt(after, key) };
    collect({ ...pair, path: [...path, key] }, changes, max);
  }
}

/** @returns `null` unless both are objects or both are lists */
function keysOf(before: unknown, after: unknown): string[] | null {
  if (Array.isArray(before) && Array.isArray(after)) {
    const length = Math.max(before.length, after.length);
    return Array.from({ length }, (_, index) => String(index));
  }
  if (!isFields(before) || !isFields(after)) return null;
  return [...new Set([...Object.keys(before), ...Object.keys(after)])];
}

function valueAt(container: unknown, key: string): unknown {
  const fields = Object(container) as Record<string, unknown>;
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}
