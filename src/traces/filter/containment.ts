import { MAX_VALUE_CHARS } from "../limits.ts";
import type { Leaf } from "./tree.ts";

/**
 * Returns the pairs of a JSON object, which a run must have. `null` when the text is not a JSON object, or has an empty
 * object or list: each run would contain that.
 */
export function readLeaves(text: string): Leaf[] | null {
  const object = parseObject(text);
  if (object === null) return null;
  const leaves: Leaf[] = [];
  const open: [path: string, value: unknown][] = [["", object]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [path, value] = next;
    if (isEmpty(value)) return null;
    if (Array.isArray(value)) open.push(...value.map((item): [string, unknown] => [path, item]));
    else if (typeof value === "object" && value !== null) open.push(...entries(path, value));
    else leaves.push(toLeaf(path, value));
  }
  return leaves.reverse();
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function entries(path: string, value: object): [string, unknown][] {
  return Object.entries(value).map(([key, inner]) => [path === "" ? key : `${path}.${key}`, inner]);
}

function toLeaf(path: string, value: unknown): Leaf {
  return {
    key: path.slice(0, MAX_VALUE_CHARS),
    value: String(value).slice(0, MAX_VALUE_CHARS),
    number: typeof value === "number" ? value : null,
  };
}

function parseObject(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
