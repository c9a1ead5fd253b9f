import { expect, test } from "vitest";
import { stateTypes } from "../../../src/control-plane/builds/types/state-types.ts";

const field = (type: string, more = "") =>
  stateTypes([`const State = Annotation.Root({ x: Annotation<${type}> }); ${more}`]).x;

test.each([
  ["string", { type: "string" }],
  ["number | null", { anyOf: [{ type: "number" }, { type: "null" }] }],
  ["boolean | undefined", { type: "boolean" }],
  ['"red" | "blue" | 7', { enum: ["red", "blue", 7] }],
  ['"red" | "blue"', { type: "string", enum: ["blue", "red"] }],
  ["string[][]", { type: "array", items: { type: "array", items: { type: "string" } } }],
  ["readonly (string | number)[]", expect.objectContaining({ type: "array" })],
  ["Array<Record<string, number>>", expect.objectContaining({ type: "array" })],
  ["Record<string, string[]>", { type: "object", additionalProperties: expect.anything() }],
  ["BaseMessage[]", { type: "array", items: expect.objectContaining({ required: ["content"] }) }],
  [
    "{ a: string; b?: number, 'c-d': { e: true } }",
    {
      type: "object",
      properties: {
        a: { type: "string" },
        b: { type: "number" },
        "c-d": { type: "object", properties: { e: { const: true } }, required: ["e"] },
      },
      required: ["a", "c-d"],
    },
  ],
])("%s", (type, schema) => {
  expect(field(type)).toEqual(schema);
});

test.each([
  "unknown",
  "any",
  "Map<string, number>",
  "z.infer<typeof Plan>",
  "(text: string) => void",
  "A & B",
  "keyof A",
  "typeof value",
  "T extends string ? 1 : 2",
  "{ [key: string]: number }",
  "{ run(): void }",
  "Unheard",
  "[string, number]",
])("%s has no schema and does not fail", (type) => {
  expect(field(type)).toBeUndefined();
});

test("names of the same project are looked up, wherever they are declared", () => {
  const types = stateTypes([
    `import type { Plan } from "../../builds/plan.ts";
     export const State = Annotation.Root({
       /** The plan: Annotation<number> is not it. */
       plan: Annotation<Plan | null>({ reducer: (a, b) => b ?? a, default: () => null }),
       'a-b': Annotation<Mode>,
       ...MessagesAnnotation.spec,
     });
     type Mode = "fast" | "slow";`,
    "export interface Plan { steps: Step[]; done: boolean }\nexport interface Step { name: string\n next?: Step }",
  ]);
  expect(types["a-b"]).toEqual({ type: "string", enum: ["fast", "slow"] });
  // A type that holds itself has no end to write down.
  expect(types.plan).toBeUndefined();
});

test("a field or an alias with two different types has no type", () => {
  const types = stateTypes([
    "({ x: Annotation<string>, y: Annotation<T>, z: Annotation<number> }); type T = string",
    "({ x: Annotation<number>, z: Annotation<number> }); type T = number",
  ]);
  expect(types).toEqual({ z: { type: "number" } });
});

test("invalid source has no types and does not hang", () => {
  for (const source of [
    "x: Annotation<",
    "x: Annotation<{",
    `x: Annotation<${"(".repeat(50_000)}`,
  ]) {
    expect(stateTypes([source])).toEqual({});
  }
});
