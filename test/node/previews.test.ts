import { expect, test } from "vitest";
import { previewOf } from "../../src/traces/rows/previews.ts";

const serialized = (content: unknown) => ({
  ...{ lc: 1, type: "constructor", id: ["langchain_core", "messages", "AIMessage"] },
  kwargs: { content, additional_kwargs: {} },
});

test.each<[string, unknown, string]>([
  ["the last message", { messages: [{ role: "user", content: "a" }, { content: "b" }] }, "b"],
  ["a pair", { messages: [["user", "Hi\n  there"]] }, "Hi there"],
  ["a serialized message", { messages: [serialized("Done: 42")] }, "Done: 42"],
  ["the text of blocks", { content: [{ type: "text", text: "seen" }, { type: "image" }] }, "seen"],
  ["a model's answer", { generations: [[{ text: "yes", message: serialized("yes") }]] }, "yes"],
  ["an OpenAI answer", { choices: [{ index: 0, message: { content: "ok" } }] }, "ok"],
  ["the only field", { topic: "heat pumps" }, "heat pumps"],
  ["a question beside others", { limit: 3, question: "Who?" }, "Who?"],
  ["a text", "as it is", "as it is"],
  ["other values as JSON", { a: 1, b: [2] }, '{"a":1,"b":[2]}'],
  [
    "a message without words as JSON",
    { messages: [{ content: "" }] },
    '{"messages":[{"content":""}]}',
  ],
])("a preview shows %s", (_, value, expected) => {
  expect(previewOf(JSON.stringify(value))).toBe(expected);
});

test("a preview is short, also of a deep payload, and an absent payload has none", () => {
  expect(previewOf(null)).toBeNull();
  expect(previewOf(JSON.stringify("x".repeat(1000)))).toHaveLength(300);
  const deep = `${"[".repeat(5000)}"in"${"]".repeat(5000)}`;
  expect(previewOf(deep)).toBe(deep.slice(0, 300));
});
