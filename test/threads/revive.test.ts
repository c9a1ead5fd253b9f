import { AIMessage, HumanMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { describe, expect, test } from "vitest";
import { parseCheckpointJson } from "../../src/isolate/revive.ts";
import { toWire } from "../../src/isolate/wire.ts";

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

describe("texts of messages", () => {
  const reread = async (value: unknown) => {
    const [, data] = await serde.dumpsTyped(value);
    return parseCheckpointJson(new TextDecoder().decode(data))?.value as never[];
  };

  test.each(same)(
    "what was read and is written for clients is what was: %s",
    async (_what, value) => {
      expect(toWire(await reread(value))).toBe(toWire(value));
    },
  );

  const changes: [string, (message: AIMessage) => void][] = [
    [
      "its content",
      (message) => {
        message.content = "other";
      },
    ],
    [
      "a block of it",
      (message) => {
        (message.content as { text: string }[])[0] = { text: "other" };
      },
    ],
    [
      "an argument of a call",
      (message) => {
        Object.assign(message.tool_calls?.[0]?.args ?? {}, { first_number: 2 });
      },
    ],
    [
      "what its model added",
      (message) => {
        message.additional_kwargs.seen = true;
      },
    ],
    [
      "its id, beside its fields",
      (message) => {
        message.lc_kwargs.id = message.id = "2";
      },
    ],
  ];
  test.each(changes)("a message is written anew when a node changes %s", async (_what, change) => {
    const [message] = await reread([
      new AIMessage({ id: "1", content: [{ type: "text", text: "hi" }], tool_calls: [call] }),
    ]);
    const before = toWire([message]);
    change(message as never);
    const now = toWire([message]);
    expect(now).not.toBe(before);
    expect(JSON.parse(now)).toEqual([
      JSON.parse(JSON.stringify({ ...(message as never as AIMessage).toDict().data, type: "ai" })),
    ]);
  });

  test("what cannot be compared is written each time", () => {
    class Seen {
      count = 1;
    }
    const seen = new Seen();
    const message = new AIMessage({ content: "hi", additional_kwargs: { seen } as never });
    toWire(message);
    seen.count = 2;
    expect(JSON.parse(toWire(message)).additional_kwargs.seen).toEqual({ count: 2 });
  });

  test("nothing is seen of what is remembered, and a message that is frozen is written all the same", async () => {
    const content = "hi";
    const [told, frozen] = [
      new AIMessage({ id: "1", content }),
      new AIMessage({ id: "1", content }),
    ];
    const shapeOf = (message: object) => [Reflect.ownKeys(message), JSON.stringify(message)];
    const before = shapeOf(told);
    const text = toWire(told);
    expect(shapeOf(told)).toEqual(before);
    Object.freeze(frozen);
    expect([toWire(frozen), toWire(frozen)]).toEqual([text, text]);
    const copy = Object.assign(Object.create(Object.getPrototypeOf(told)), told, { content: "ho" });
    expect(JSON.parse(toWire(copy))).toEqual({ ...JSON.parse(text), content: "ho" });
  });
});
