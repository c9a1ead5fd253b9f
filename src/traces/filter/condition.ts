import type { Field, FunctionName } from "./fields.ts";
import { readLikePattern } from "./like-pattern.ts";
import { describe, readString, toLiteral } from "./literal.ts";
import type { FilterNode } from "./syntax.ts";
import { FilterProblem } from "./tokens.ts";
import type { Comparator, Condition, Operand } from "./tree.ts";
import { type Literal, READERS } from "./values.ts";

type FieldRef = { name: FunctionName; field: Field; field_name: string };

export function readCondition(ref: FieldRef, node: FilterNode): Condition {
  switch (ref.name) {
    case "in":
      return { op: "in", operands: readList(ref, node) };
    case "like":
      return readLike(ref, node);
    case "search":
      return readSearch(ref, node);
    case "has":
    case "exists":
      return { op: "eq", operand: readString(node, `${ref.name}(${ref.field_name}, ...)`) };
    default:
      return readComparison(ref, ref.name as Comparator, node);
  }
}

function readComparison(ref: FieldRef, op: Comparator, node: FilterNode): Condition {
  const literal = toLiteral(node);
  const presence = presenceOf(ref.field, literal);
  if (presence !== null && (op === "eq" || op === "neq")) {
    return { op: (op === "eq") === presence ? "set" : "null" };
  }
  return { op, operand: readOperand(ref, literal, node) };
}

/** Returns true for a literal that means any value, false for one that means none, `null` for all others. */
function presenceOf({ nullable, type }: Field, literal: Literal): boolean | null {
  if (nullable && literal === null) return false;
  return type === "error" && typeof literal === "boolean" ? literal : null;
}

function readOperand(
  { field, field_name, name }: FieldRef,
  literal: Literal,
  node: FilterNode,
): Operand {
  const { read, expected } = READERS[field.type];
  const operand = read(literal);
  if (operand !== null) return operand;
  const hint = literal === null && field.nullable ? "; only eq and neq accept null" : "";
  throw new FilterProblem(
    node.offset,
    `${name}(${field_name}, ...) takes ${expected}, not ${describe(node)}${hint}`,
  );
}

function readList(ref: FieldRef, node: FilterNode): Operand[] {
  if (node.kind === "list") {
    return node.items.map((item) => readOperand(ref, toLiteral(item), item));
  }
  throw new FilterProblem(
    node.offset,
    `in(${ref.field_name}, ...) takes a list such as ["a", "b"], not ${describe(node)}`,
  );
}

function readLike({ field_name }: FieldRef, node: FilterNode): Condition {
  const pattern = readLikePattern(readString(node, `like(${field_name}, ...)`));
  if (pattern !== null) return { op: "like", pattern };
  throw new FilterProblem(
    node.offset,
    "a pattern over 48 bytes takes no _ and at most one text between two %; combine several like() with and()",
  );
}

function readSearch({ field_name }: FieldRef, node: FilterNode): Condition {
  const text = readString(node, `search(${field_name}, ...)`).toLowerCase();
  if (text.trim() !== "") return { op: "search", text };
  throw new FilterProblem(node.offset, "search() needs a string");
}
