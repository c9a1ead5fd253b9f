import { expect, test } from "vitest";
import { contextType } from "../../../src/control-plane/builds/types/context-type.ts";

const $schema = "http://json-schema.org/draft-07/schema#";
const model = { $schema, type: "object", properties: { model: { type: "string" } } };
const STATE =
  "Annotation.Root({ a: Annotation<Record<string, [number, { b: string }]>>, c: Annotation<number>() })";

test.each([
  [
    "written where it is used",
    `new StateGraph(${STATE}, Annotation.Root({ model: Annotation<string> }))`,
  ],
  [
    "a constant",
    `const Context = Annotation.Root({ model: Annotation<string>() });
     export const graph = new StateGraph({ input: In, output: Out }, Context).addNode("a", a).compile();`,
  ],
  [
    "said of two graphs alike",
    `new StateGraph(A, Annotation.Root({ model: Annotation<string> }));
     new StateGraph(B, Annotation.Root({ model: Annotation<Name> })); type Name = string;`,
  ],
])("a context that is %s has its fields", (_, source) => {
  expect(contextType(source)).toEqual(model);
});

test.each([
  ["one argument", `new StateGraph(${STATE})`],
  ["a schema, which LangGraph keeps", "new StateGraph(A, z.object({ model: z.string() }))"],
  [
    "one of another file",
    'import { Context } from "../../builds/c.ts"; new StateGraph(A, Context)',
  ],
  ["one that names itself", "const C = C; new StateGraph(A, C)"],
  [
    "two that differ",
    `new StateGraph(A, Annotation.Root({ model: Annotation<string> }));
     new StateGraph(B, Annotation.Root({ model: Annotation<number> }));`,
  ],
])("%s has no schema", (_, source) => {
  expect(contextType(source)).toBeNull();
});

test("a call that does not end breaks nothing", () => {
  expect(contextType("new StateGraph(A, Annotation.Root({ model")).toEqual({
    $schema,
    type: "object",
    properties: {},
  });
});
