import type { WireFilters } from "../auth-contract.ts";

type Wire = NonNullable<WireFilters>[string];

/**
 * Converts the filter that a handler returned to the filters that the Worker applies.
 * @throws Error when the result is not a filter
 */
export function toFilters(result: unknown): WireFilters {
  if (!isPlain(result)) throw new Error(`it returned ${kindOf(result)}; a filter is an object.`);
  const entries = Object.entries(result).map(([key, filter]) => [key, toFilter(key, filter)]);
  return Object.fromEntries(entries);
}

function toFilter(key: string, filter: unknown): Wire {
  if (isScalar(filter)) return { eq: filter };
  const [[operator, operand] = [], ...more] = isPlain(filter) ? Object.entries(filter) : [];
  if (more.length === 0 && operator === "$eq" && isScalar(operand)) return { eq: operand };
  if (more.length === 0 && operator === "$contains") {
    const contains = Array.isArray(operand) ? operand : [operand];
    if (contains.every(isScalar)) return { contains };
  }
  const text = `its filter "${key}" is ${kindOf(filter)}; a value is a string, a number, true, false, null, {$eq} or {$contains}.`;
  throw new Error(text);
}

function isScalar(value: unknown): value is string | number | boolean | null {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  // An instance of a class, such as a Map, may have no entries: its filter would match everything.
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

function kindOf(value: unknown): string {
  return value === undefined ? "undefined" : (JSON.stringify(value) ?? typeof value);
}
