import { AIMessage, HumanMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { describe, expect, test } from "vitest";
import { parseCheckpointJson } from "../../src/isolate/revive.ts";

const { serde } = new MemorySaver();

const call = { name: "add", args: { first_number: 1 }, id: "c1" };
const usage_metadata = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
const same: [string, unknown][] = [
  ["plain data", { a: [1, null, "x", { b: true }] }],
  ["messages", [new HumanMessage({ content: "hi", id: "1" }), new AIMessage("hello")]],
  [
    "a call of a tool",
    Object.assign(new AIMessage({ content: "", tool_calls: [call] }), { usage_metadata }),
  ],
  [
    "a tool's answer",
    new ToolMessage({ content: "2", tool_call_id: "c1", name: "add", artifact: { rows: [1] } }),
  ],
  ["messages within data", { deep: { list: [new HumanMessage("x")] } }],
];

describe("what is parsed here is what the serializer parses", () => {
  test.each(same)("%s", async (_what, value) => {
    const [type, data] = await serde.dumpsTyped(value);
    const theirs = await serde.loadsTyped(type, data);
    const ours = parseCheckpointJson(new TextDecoder().decode(data));
    expect(ours?.value).toEqual(theirs);
    expect(JSON.stringify(ours?.value)).toBe(JSON.stringify(theirs));
  });
});

describe("the rest is left to the serializer", () => {
  const foreign: [string, unknown][] = [
    ["a set", new Set([1])],
    ["another kind of message", [new RemoveMessage({ id: "1" })]],
    ["an error within data", { error: new Error("x") }],
  ];
  test.each(foreign)("%s", async (_what, value) => {
    const [, data] = await serde.dumpsTyped(value);
    expect(parseCheckpointJson(new TextDecoder().decode(data))).toBeNull();
  });

  test("a key that names the prototype", () => {
    expect(parseCheckpointJson('{"__proto__":{"polluted":true}}')).toBeNull();
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });
});
