import { toLikeTest } from "../filter/like-pattern.ts";
import type { Condition, Operand } from "../filter/tree.ts";

export type Scalar = string | number | null;
export type ScalarTest = (value: Scalar) => boolean;

/** Returns a test of one value. Only `neq` and `null` accept `null`. */
export function toScalarTest(condition: Condition): ScalarTest {
  switch (condition.op) {
    case "eq":
      return (value) => value === condition.operand;
    case "neq":
      return (value) => value !== condition.operand;
    case "null":
      return (value) => value === null;
    case "set":
      return (value) => value !== null;
    case "in": {
      const operands = new Set<Scalar>(condition.operands);
      return (value) => value !== null && operands.has(value);
    }
    case "like": {
      const isLike = toLikeTest(condition.pattern);
      return (value) => value !== null && isLike(String(value));
    }
    case "search":
      return (value) => value !== null && String(value).toLowerCase().includes(condition.text);
    default:
      return toOrderTest(condition.op, condition.operand);
  }
}

function toOrderTest(op: "gt" | "gte" | "lt" | "lte", operand: Operand): ScalarTest {
  const holds = ORDERS[op];
  return (value) => value !== null && holds(compare(value, operand));
}

export const ORDERS = {
  gt: (order: number) => order > 0,
  gte: (order: number) => order >= 0,
  lt: (order: number) => order < 0,
  lte: (order: number) => order <= 0,
};

/** Numbers sort before texts. */
export function compare(a: Operand, b: Operand): number {
  if (typeof a === "number") return typeof b === "number" ? a - b : -1;
  return typeof b === "string" ? compareTexts(a, b) : 1;
}

/** Compares code points: UTF-16 would sort surrogates before U+E000. */
function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [one, other] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (one !== other) return rank(one) - rank(other);
  }
  return a.length - b.length;
}

function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
