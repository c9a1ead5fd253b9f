import { describe, expect, test } from "vitest";
import { parseInline, parseMarkdown } from "../../src/console/ui/conversation/markdown.ts";
import { messagesOf, summaryOf, toConversation } from "../../src/console/ui/conversation/model.ts";

describe("a conversation", () => {
  test("shows each tool once, with its call and its result", () => {
    const call = { id: "c1", name: "lookup_order", args: { order_id: 7 } };
    const shown = toConversation([
      { type: "human", id: "1", content: "Where is it?" },
      { type: "ai", id: "2", content: "", tool_calls: [call] },
      { type: "tool", id: "3", content: "in the warehouse", tool_call_id: "c1", status: "error" },
      { type: "ai", id: "4", content: [{ type: "text", text: "Here." }, { type: "image_url" }] },
      { type: "tool", id: "5", content: "of no call", tool_call_id: "c2" },
    ]);
    expect(shown.map(({ role, text }) => [role, text])).toEqual([
      ["user", "Where is it?"],
      ["agent", ""],
      ["agent", "Here."],
      ["tool", "of no call"],
    ]);
    expect(shown[1]?.calls).toEqual([{ ...call, result: "in the warehouse", isFailed: true }]);
    expect(shown[2]?.parts).toEqual(["image_url"]);
  });

  test.each([
    [
      "a class",
      { lc: 1, type: "constructor", id: ["m", "HumanMessage"], kwargs: { content: "x" } },
    ],
    ["a role", { role: "user", content: "x" }],
    ["a type", { type: "human", content: "x" }],
  ])("reads a message serialized with %s", (_, message) => {
    expect(messagesOf({ messages: [message] })).not.toBeNull();
    expect(toConversation([message])).toMatchObject([{ role: "user", text: "x" }]);
  });

  test("reads calls in OpenAI's form", () => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: '{"a":1}' } };
    const [message] = toConversation([{ role: "assistant", content: null, tool_calls: [call] }]);
    expect(message?.calls).toMatchObject([{ id: "c", name: "f", args: { a: 1 } }]);
  });

  test.each([
    ["no messages", {}],
    ["other items", { messages: [{ a: 1 }] }],
    ["a text", "messages"],
    ["null", null],
  ])("is not made from a state with %s", (_, values) => expect(messagesOf(values)).toBeNull());
});

describe("markdown", () => {
  test("has paragraphs, headings, nested lists, quotes and code", () => {
    const text = "# Title\ntwo\nlines\n\n- one\n  - inner\n    more\n2. two\n\n> said\n---";
    expect(parseMarkdown(`${text}\n~~~ts\n- no list\n# no title\n~~~\nend`)).toEqual([
      { kind: "heading", text: "Title" },
      { kind: "text", text: "two\nlines" },
      {
        kind: "list",
        items: [
          { depth: 0, marker: "-", text: "one" },
          { depth: 1, marker: "-", text: "inner\nmore" },
          { depth: 0, marker: "2.", text: "two" },
        ],
      },
      { kind: "quote", text: "said" },
      { kind: "rule" },
      { kind: "code", lines: ["- no list", "# no title"] },
      { kind: "text", text: "end" },
    ]);
    expect(parseMarkdown("```\nbeing written")).toEqual([
      { kind: "code", lines: ["being written"] },
    ]);
  });

  test("reads lines that end with a carriage return", () => {
    expect(parseMarkdown("# Title\r\n- one\r\n> two\r\n```\r\ncode\r\n```\r\nend")).toEqual([
      { kind: "heading", text: "Title" },
      { kind: "list", items: [{ depth: 0, marker: "-", text: "one" }] },
      { kind: "quote", text: "two" },
      { kind: "code", lines: ["code"] },
      { kind: "text", text: "end" },
    ]);
  });

  test("ends code at a fence that is as long as the first one and names no language", () => {
    const code = ["```ts", "a", "```", "~~~", "```js"];
    expect(parseMarkdown(["````md", ...code, "`````", "end"].join("\n"))).toEqual([
      { kind: "code", lines: code },
      { kind: "text", text: "end" },
    ]);
    expect(parseMarkdown("```a```\nend")).toEqual([{ kind: "text", text: "```a```\nend" }]);
  });

  test("marks parts of a line, and keeps other characters", () => {
    expect(parseInline("a **b _c_** `**d**` ~~e~~ snake_case_name 2 * 3 * 4 \\*f")).toEqual([
      "a ",
      { kind: "strong", parts: ["b ", { kind: "em", parts: ["c"] }] },
      " ",
      { kind: "code", text: "**d**" },
      " ",
      { kind: "del", parts: ["e"] },
      " snake_case_name 2 * 3 * 4 ",
      "*",
      "f",
    ]);
  });

  test.each([
    ["[docs](https://example.com/a)", "docs", "https://example.com/a"],
    ["![pixel](https://example.com/p.png)", "pixel", "https://example.com/p.png"],
    ["https://example.com/a?b=1.", "https://example.com/a?b=1", "https://example.com/a?b=1"],
  ])("links %s", (text, label, href) => {
    expect(parseInline(text)[0]).toEqual({ kind: "link", href, label });
  });

  test.each([
    ["[x](javascript:alert(1))"],
    ["[x](JaVaScRiPt:alert)"],
    ["[x](data:text/html,a)"],
    ["[x](/console/w)"],
    ["<img src=x onerror=alert(1)>"],
    ["<a href=y>"],
  ])("keeps %s as text", (text) => expect(parseInline(text).join("")).toBe(text));

  test.each(["*a ", "[", "`", "_a ", "**", "~~", "[](", "https://", "![a](b "])(
    "reads 20,000 characters of %j in the time of a test",
    (mark) => {
      const text = mark.repeat(20_000 / mark.length);
      const flat = JSON.stringify(
        parseMarkdown(text).map((block) => parseInline("text" in block ? block.text : "")),
      );
      // A parser that tries each beginning again exceeds the time of a test.
      expect(flat.length).toBeGreaterThan(0);
    },
  );
});

test.each([
  [{ input: { messages: [{ role: "user", content: "Hi" }] } }, "“Hi”"],
  [{ input: null }, "continues"],
  [{ input: { city: "Bern" } }, '{"city":"Bern"}'],
])("the summary of a run with %j is %s", (kwargs, text) => expect(summaryOf(kwargs)).toBe(text));
