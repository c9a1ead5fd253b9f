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
const MAX_CHANGES = 100;

/** @returns the first changes between two JSON values, and whether there are more */
export function diffOf(before: unknown, after: unknown) {
  const changes: Change[] = [];
  collect({ before, after, path: [] }, changes);
  return { changes: changes.slice(0, MAX_CHANGES), hasMore: changes.length > MAX_CHANGES };
}

type Pair = { before: unknown; after: unknown; path: string[] };

function collect({ before, after, path }: Pair, changes: Change[]): void {
  if (changes.length > MAX_CHANGES || Object.is(before, after)) return;
  const keys = path.length < MAX_DEPTH ? keysOf(before, after) : null;
  if (keys === null) {
    if (toJson(before) !== toJson(after)) changes.push({ path: path.join("."), before, after });
    return;
  }
  for (const key of keys) {
    const pair = { before: valueAt(before, key), after: valueAt(after, key) };
    collect({ ...pair, path: [...path, key] }, changes);
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
