import type { StoreRefusal } from "../../../isolate/store-contract.ts";
import { isEqual, isRecord } from "../../../shared/guards.ts";

const OPERATORS = {
  $eq: (item, wanted) => isEqual(item, wanted),
  $ne: (item, wanted) => !isEqual(item, wanted),
  $gt: (item, wanted) => compare(item, wanted) > 0,
  $gte: (item, wanted) => compare(item, wanted) >= 0,
  $lt: (item, wanted) => compare(item, wanted) < 0,
  $lte: (item, wanted) => compare(item, wanted) <= 0,
  $in: (item, wanted) => Array.isArray(wanted) && wanted.some((one) => isEqual(item, one)),
  $nin: (item, wanted) => Array.isArray(wanted) && !wanted.some((one) => isEqual(item, one)),
} as const satisfies Record<string, (item: unknown, wanted: unknown) => boolean>;

/**
 * Matches values like LangGraph's own stores: fields must be equal or satisfy their operators. An object without
 * operators applies to the fields within.
 */
export function matches(item: unknown, wanted: unknown): boolean {
  if (!isRecord(wanted)) return isEqual(item, wanted);
  const entries = Object.entries(wanted);
  if (isOperators(wanted)) {
    return entries.every(([name, operand]) => isOperator(name) && OPERATORS[name](item, operand));
  }
  if (!isRecord(item)) return false;
  return entries.every(([field, inner]) => matches(item[field], inner));
}

/** @returns the refusal of an unknown operator, or of a wrong operand: either would match nothing. Else `null` */
export function filterProblem(filter: unknown, path = "filter"): StoreRefusal | null {
  if (!isRecord(filter)) return null;
  const check = isOperators(filter) ? operatorProblem : fieldProblem;
  for (const [name, inner] of Object.entries(filter)) {
    const problem = check(name, inner, path);
    if (problem) return problem;
  }
  return null;
}

function fieldProblem(name: string, inner: unknown, path: string): StoreRefusal | null {
  return filterProblem(inner, `${path}.${name}`);
}

function operatorProblem(name: string, operand: unknown, path: string): StoreRefusal | null {
  if (!isOperator(name)) return refuse(path, `has no operator "${name}"`);
  const takesList = name === "$in" || name === "$nin";
  return takesList && !Array.isArray(operand) ? refuse(`${path}.${name}`, "must be a list") : null;
}

function refuse(path: string, what: string): StoreRefusal {
  const known = Object.keys(OPERATORS).join(", ");
  return { code: "invalid_request", message: `${path}: ${what}; operators are ${known}.` };
}

function isOperators(filter: Record<string, unknown>): boolean {
  return Object.keys(filter).some((name) => name.startsWith("$"));
}

function isOperator(name: string): name is keyof typeof OPERATORS {
  return Object.hasOwn(OPERATORS, name);
}

/** @returns `NaN` for values that cannot be compared: each comparison with it is false */
function compare(item: unknown, wanted: unknown): number {
  const [a, b] = [toNumber(item), toNumber(wanted)];
  if (!Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  if (typeof item !== "string" || typeof wanted !== "string") return Number.NaN;
  if (item === wanted) return 0;
  return item < wanted ? -1 : 1;
}

function toNumber(value: unknown): number {
  if (typeof value === "number" || typeof value === "boolean") return Number(value);
  if (typeof value === "string" && value.trim() !== "") return Number(value);
  return Number.NaN;
}
