import { expect, test } from "vitest";
import { contextType } from "../../../src/control-plane/builds/types/context-type.ts";
import { stateTypes } from "../../../src/control-plane/builds/types/state-types.ts";
import { TYPE_LIMITS, TypeBudget } from "../../../src/control-plane/builds/types/type-budget.ts";

const MB = 1024 * 1024;

/** Interfaces of which each has `width` fields of the next one. */
function nested(levels: number, width: number): string {
  const interfaces = Array.from({ length: levels }, (_, level) => {
    const type = level + 1 < levels ? `T${level + 1}` : "string";
    const fields = Array.from({ length: width }, (_, n) => `f${n}: ${type}`);
    return `interface T${level} { ${fields.join("; ")} }`;
  });
  return interfaces.join("\n");
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value).length;
}

test.each([
  [
    "five interfaces of 26 fields, each of the next one",
    `({ x: Annotation<T0> }); ${nested(5, 26)}`,
  ],
  ["a thousand uses of a type of a thousand nodes", `({ ${fields(1000)} }); ${nested(3, 10)}`],
  [
    "a literal of 100 KB that is used a hundred times",
    `({ ${fields(100)} }); type T0 = "${"a".repeat(100_000)}";`,
  ],
  ["arrays of arrays", `({ x: Annotation<string${"[]".repeat(100_000)}> })`],
  ["a chain of 20,000 aliases", `({ x: Annotation<A0> }); ${aliases(20_000)}`],
])("state types: %s stay within the limits", (_, source) => {
  const budget = new TypeBudget();
  const types = stateTypes([source], budget);
  expect(sizeOf(types)).toBeLessThan(TYPE_LIMITS.nodes * 40 + TYPE_LIMITS.text);
  expect(TYPE_LIMITS.nodes - budget.left("nodes")).toBeLessThan(TYPE_LIMITS.nodes * 1.1);
});

test("a type over the limit is {} and marks the budget; the other fields keep their types", () => {
  const budget = new TypeBudget();
  const source = `({ x: Annotation<T0>, y: Annotation<string> }); ${nested(5, 26)}`;
  expect(stateTypes([source], budget)).toEqual({ y: { type: "string" } });
  expect(budget.isExceeded).toBe(true);
});

test("ordinary types do not reach the limits", () => {
  const budget = new TypeBudget();
  const types = stateTypes([`({ ${fields(5)} }); ${nested(3, 5)}`], budget);
  expect(Object.keys(types)).toHaveLength(5);
  expect(budget.isExceeded).toBe(false);
});

test.each([
  ["escaped quotes", '\\"'],
  ["open strings", '"\\\\'],
  ["open comments", "/*/"],
  ["calls in calls", "StateGraph("],
  ["quotes", "'\\\\"],
])("1 MB of %s is read in linear time", (_, text) => {
  const source = text.repeat(MB / text.length);
  expect(stateTypes([source])).toEqual({});
  expect(contextType(source)).toBeNull();
});

test("contexts: nested graphs and chains of constants end at their limits", () => {
  const budget = new TypeBudget();
  const constants = Array.from({ length: 20_000 }, (_, n) => `const c${n + 1} = c${n},`).join("");
  expect(contextType(`${constants} new StateGraph(A, c20000)`, budget)).toBeNull();
  const graphs = "new StateGraph(A, Annotation.Root({ x: Annotation<T0> })); ".repeat(1000);
  contextType(graphs + nested(3, 10), budget);
  expect(budget.isExceeded).toBe(true);
});

function fields(count: number): string {
  return Array.from({ length: count }, (_, n) => `x${n}: Annotation<T0>`).join(", ");
}

function aliases(count: number): string {
  return Array.from({ length: count }, (_, n) => `type A${n} = A${n + 1};`).join("\n");
}
