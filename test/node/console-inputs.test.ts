import { describe, expect, test } from "vitest";
import { draftOf, readDraft, readNaming } from "../../src/console/pages/assistants/config-draft.ts";
import { inputFields, isChatSchema, readInput } from "../../src/console/runs/input/input-schema.ts";

describe("the schema of an input", () => {
  const schema = {
    type: "object",
    required: ["city"],
    properties: {
      city: { type: "string", description: "Where" },
      days: { type: "integer", default: 3 },
      unit: { enum: ["c", "f"] },
      wet: { type: "boolean" },
      more: { $ref: "#/definitions/More" },
    },
    definitions: { More: { type: "object" } },
  };

  test("becomes fields with their defaults", () => {
    expect(inputFields(schema).map(({ name, kind, initial }) => [name, kind, initial])).toEqual([
      ["city", "text", ""],
      ["days", "integer", "3"],
      ["unit", "choice", ""],
      ["wet", "boolean", ""],
      ["more", "json", ""],
    ]);
  });

  test("is that of a chat when it has a list of messages", () => {
    expect([isChatSchema(schema), isChatSchema(null)]).toEqual([false, false]);
    expect(isChatSchema({ properties: { messages: { type: "array" } } })).toBe(true);
  });

  test("reads what a person typed into its fields, and names those that are wrong", () => {
    const fields = inputFields(schema);
    expect(readInput(fields, { city: "Bern", wet: "true", more: '{"a":1}' })).toEqual({
      input: { city: "Bern", days: 3, wet: true, more: { a: 1 } },
      problems: {},
    });
    expect(readInput(fields, { days: "x", more: "{" }).problems).toEqual({
      city: "is required",
      days: "must be a whole number",
      more: "is not JSON",
    });
    expect(readInput(fields, { city: "Bern", days: "1.5", wet: "1" }).problems).toEqual({
      days: "must be a whole number",
      wet: "must be true or false",
    });
  });

  test("that refers to itself makes a form that ends", () => {
    expect(inputFields({ $ref: "#" })).toEqual([]);
    expect(inputFields({ properties: { a: { $ref: "#/properties/a" } } })).toMatchObject([
      { kind: "json" },
    ]);
  });
});

describe("an assistant's configuration", () => {
  const schemas = {
    config_schema: { type: "object", properties: { model: { type: "string" } } },
    context_schema: {
      type: "object",
      properties: { limit: { type: "number" }, tools: { type: "array" } },
      required: ["limit"],
    },
  } as never;
  const assistant = {
    config: { tags: ["a"], configurable: { model: "small" } },
    context: { limit: 3 },
  } as never;

  test("is typed by its schemas, and the rest is kept", () => {
    const draft = draftOf(assistant, schemas);
    expect(draft).toMatchObject({
      configurable: { model: "small" },
      contextFields: { limit: "3" },
    });
    const edited = { ...draft, contextFields: { limit: "4", tools: '["x"]' } };
    expect(readDraft(edited, schemas, assistant)).toEqual({
      problems: {},
      values: {
        config: { tags: ["a"], configurable: { model: "small" } },
        context: { limit: 4, tools: ["x"] },
      },
    });
  });

  test("keeps keys that its schemas do not have, or have beyond the fields of the form", () => {
    const names = Array.from({ length: 51 }, (_, n) => `field_${n}`);
    const long = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
    const typed = { config_schema: { properties: long }, context_schema: { properties: long } };
    const values = { field_0: "first", field_50: "last", user_id: "u1" };
    const stored = { config: { tags: ["a"], configurable: values }, context: values };
    const draft = draftOf(stored as never, typed as never);
    expect(JSON.parse(draft.context)).toEqual({ field_50: "last", user_id: "u1" });
    expect(readDraft(draft, typed as never, stored as never)).toEqual({
      problems: {},
      values: stored,
    });
  });

  test("keeps values of other types than their fields", () => {
    const values = { model: 5, limit: null, tools: null };
    const properties = { model: { type: "string" }, limit: { type: "number" }, tools: {} };
    const typed = { config_schema: { properties }, context_schema: { properties } };
    const stored = { config: { configurable: values }, context: values };
    const draft = draftOf(stored as never, typed as never);
    expect(draft.contextFields).toEqual({ model: "", limit: "", tools: "null" });
    expect(JSON.parse(draft.context)).toEqual({ model: 5, limit: null });
    expect(readDraft(draft, typed as never, stored as never)).toEqual({
      problems: {},
      values: stored,
    });
  });

  test("keeps empty texts, and leaves fields at their defaults, where nothing was typed", () => {
    const properties = {
      prompt: { type: "string", default: "Be kind." },
      model: { type: "string", default: "small" },
    };
    const typed = { config_schema: { properties }, context_schema: { properties } };
    const stored = { config: { configurable: { prompt: "" } }, context: { prompt: "" } };
    const draft = draftOf(stored as never, typed as never);
    expect(readDraft(draft, typed as never, stored as never).values).toEqual(stored);
    const edited = { ...draft, contextFields: { ...draft.contextFields, model: "large" } };
    expect(readDraft(edited, typed as never, stored as never).values).toEqual({
      ...stored,
      context: { prompt: "", model: "large" },
    });
  });

  test("refuses untyped values that are not an object", () => {
    const draft = { ...draftOf(assistant, schemas), config: '{"configurable": 1}', context: "[]" };
    expect(readDraft(draft, schemas, assistant).problems).toEqual({
      config: "configurable is not an object: put the value in { }.",
      context: "Not an object: put the value in { }.",
    });
  });

  test("names the fields that are wrong", () => {
    const draft = draftOf(undefined, schemas);
    const edited = { ...draft, config: "[]", contextFields: { tools: "x" } };
    expect(readDraft(edited, schemas, undefined).problems).toEqual({
      config: "Not an object: put the value in { }.",
      limit: "is required",
      tools: "is not JSON",
    });
  });
});

test("an assistant is edited with an emptied description, and created without one", () => {
  const texts = { name: "Support", description: "" };
  expect(readNaming(texts, {} as never)).toEqual(texts);
  expect(readNaming(texts, undefined)).toEqual({ name: "Support" });
});
