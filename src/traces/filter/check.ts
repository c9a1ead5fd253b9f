import { MAX_VALUE_CHARS } from "../limits.ts";
import { readCondition } from "./condition.ts";
import { readLeaves } from "./containment.ts";
import { FIELD_NAMES, type Field, FUNCTIONS, type FunctionName, findField } from "./fields.ts";
import { describe, readString, toLiteral } from "./literal.ts";
import type { FilterCall, FilterNode } from "./syntax.ts";
import { FilterProblem } from "./tokens.ts";
import type { Comparator, Filter, PairKind } from "./tree.ts";
import { READERS, readCursor } from "./values.ts";

type FieldTest = {
  call: FilterCall;
  name: FunctionName;
  field: Field;
  field_name: string;
  value: FilterNode;
};

/** Resolves the functions and fields of a parsed filter. @throws FilterProblem */
export function checkFilter(node: FilterNode): Filter {
  if (node.kind !== "call") {
    throw new FilterProblem(
      node.offset,
      `expected a function such as eq(name, "x"), found ${describe(node)}`,
    );
  }
  const name = FUNCTIONS.find((known) => known === node.name);
  if (name === undefined) {
    throw new FilterProblem(
      node.offset,
      `${node.name.slice(0, 40)} is not a function; use ${FUNCTIONS.join(", ")}`,
    );
  }
  if (name === "and" || name === "or") return { kind: name, filters: node.args.map(checkFilter) };
  return name === "not" ? checkNot(node) : checkLeaf(node, name);
}

function checkNot(call: FilterCall): Filter {
  const [filter, ...rest] = call.args;
  if (filter === undefined || rest.length > 0) throw wrongCount(call, "one filter");
  return { kind: "not", filter: checkFilter(filter) };
}

function checkLeaf(call: FilterCall, name: FunctionName): Filter {
  const [first, second, ...rest] = call.args;
  if (name === "search" && first !== undefined && second === undefined) return checkWords(first);
  if (first !== undefined && second !== undefined && rest.length === 0) {
    return checkTest(checkField(call, name, first, second));
  }
  throw wrongCount(
    call,
    name === "search" ? "a string, or a field and a string" : "a field and a value",
  );
}

function wrongCount({ name, args, offset }: FilterCall, expected: string): FilterProblem {
  return new FilterProblem(offset, `${name}() takes ${expected}, not ${args.length} arguments`);
}

function checkWords(node: FilterNode): Filter {
  const words = toWords(readString(node, "search()"));
  if (words.length > 0) return { kind: "words", words };
  throw new FilterProblem(node.offset, "search() needs a word");
}

function checkField(
  call: FilterCall,
  name: FunctionName,
  node: FilterNode,
  value: FilterNode,
): FieldTest {
  if (node.kind !== "word" && node.kind !== "text") {
    throw new FilterProblem(
      node.offset,
      `expected the name of a field, found ${describe(node)}; use ${FIELD_NAMES.join(", ")}`,
    );
  }
  const field = findField(node.text);
  if (field === undefined) {
    throw new FilterProblem(
      node.offset,
      `${describe(node)} is not a field; use ${FIELD_NAMES.join(", ")}`,
    );
  }
  if (!field.functions.includes(name)) {
    throw new FilterProblem(
      call.offset,
      `${name}() does not support ${node.text}; use ${field.functions.join(", ")}`,
    );
  }
  return { call, name, field, field_name: node.text, value };
}

function checkTest(test: FieldTest): Filter {
  const { source } = test.field;
  switch (source.kind) {
    case "column":
      return { kind: "column", name: source.name, condition: conditionOf(test) };
    case "tag":
      return { kind: "tag", condition: conditionOf(test) };
    case "pair":
      return { kind: "pair", of: source.of, part: source.part, condition: conditionOf(test) };
    case "object":
      return checkObject(test, source.of);
    case "project":
      return checkProject(test);
    case "cursor":
      return checkCursor(test);
  }
}

function conditionOf({ name, field, field_name, value }: FieldTest) {
  return readCondition({ name, field, field_name }, value);
}

function checkObject(test: FieldTest, of: PairKind): Filter {
  const { name, field_name, value } = test;
  if (name === "search") return { kind: "pair", of, part: "value", condition: conditionOf(test) };
  const text = readString(value, field_name);
  if (name === "exists") return { kind: "key", of, key: text.slice(0, MAX_VALUE_CHARS) };
  const leaves = readLeaves(text);
  if (leaves !== null) return { kind: "contains", of, leaves };
  throw new FilterProblem(
    value.offset,
    `has(${field_name}, ...) takes a JSON object with values, as a string such as '{"user_id": "u1"}'`,
  );
}

function checkProject(test: FieldTest): Filter {
  const condition = conditionOf(test);
  const operands = condition.op === "in" ? condition.operands : [];
  const ids = "operand" in condition ? [condition.operand] : operands;
  return { kind: "project", ids: ids.map(String), is: condition.op !== "neq" };
}

function checkCursor({ name, field_name, value }: FieldTest): Filter {
  const literal = toLiteral(value);
  const cursor = typeof literal === "string" ? readCursor(literal) : null;
  if (cursor !== null) return { kind: "cursor", op: name as Comparator, ...cursor };
  throw new FilterProblem(
    value.offset,
    `${field_name} takes ${READERS.cursor.expected}, not ${describe(value)}`,
  );
}

/** English stop words, and the literals of JSON. */
const STOP_WORDS = new Set(
  `i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she
  her hers herself it its itself they them their theirs themselves what which who whom this that
  these those am is are was were be been being have has had having do does did doing a an the and
  but if or because as until while of at by for with about against between into through during
  before after above below to from up down in out on off over under again further then once here
  there when where why how all any both each few more most other some such no nor not only own same
  so than too very s t can will just don should now true false null`.split(/\s+/),
);

/** Returns the words to find, in any order. Drops stop words unless there are no others. */
function toWords(text: string): string[] {
  const words = [...new Set(text.toLowerCase().split(/\s+/))].filter((word) => word !== "");
  const meaningful = words.filter((word) => !STOP_WORDS.has(word));
  return meaningful.length > 0 ? meaningful : words;
}
