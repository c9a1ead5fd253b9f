import { describe, expect, test } from "vitest";
import { readEvents, toEvent } from "../../src/console/api/sse.ts";
import { applyEvent, emptyLiveRun, withStreamed } from "../../src/console/runs/stream/live-run.ts";
import { messagesOf, toConversation } from "../../src/console/ui/conversation/model.ts";

const event = (name: string, data: unknown, id = "1") => ({
  id,
  event: name,
  data: JSON.stringify(data),
});

describe("a run that is streamed", () => {
  const chunk = (content: string, more = {}) =>
    event("messages|model:1", [
      { type: "ai", id: "m", content, tool_call_chunks: [], ...more },
      {},
    ]);

  test("joins the tokens of a message until the state has it", () => {
    const live = emptyLiveRun();
    applyEvent(live, event("values", { messages: [{ type: "human", id: "h", content: "hi" }] }));
    applyEvent(live, chunk("one "));
    applyEvent(live, chunk("two"));
    const state = messagesOf(live.values) ?? [];
    expect(withStreamed(state, live)).toMatchObject([{ id: "h" }, { id: "m", content: "one two" }]);
    const result = { type: "ai", id: "m", content: "one two!" };
    applyEvent(live, event("messages", [result, { name: "model", langgraph_node: "model" }]));
    expect(withStreamed(state, live)).toMatchObject([
      { id: "h" },
      { id: "m", content: "one two!" },
    ]);
    applyEvent(
      live,
      event("values", { messages: [...state, { type: "ai", id: "n", content: "x" }] }),
    );
    expect(withStreamed(messagesOf(live.values) ?? [], live)).toMatchObject([
      { id: "h" },
      { id: "n" },
    ]);
  });

  test("joins the parts of a tool's arguments", () => {
    const live = emptyLiveRun();
    const part = (args: string, name?: string) =>
      chunk("", { tool_call_chunks: [{ index: 0, ...(name && { id: "c", name }), args }] });
    applyEvent(live, part('{"a"', "f"));
    applyEvent(live, part(":1}"));
    const [message] = toConversation(withStreamed([], live));
    expect(message?.calls).toMatchObject([{ id: "c", name: "f", args: { a: 1 } }]);
  });

  test("keeps tool calls without an index apart by their ids", () => {
    const live = emptyLiveRun();
    const part = (call: object) => applyEvent(live, chunk("", { tool_call_chunks: [call] }));
    part({ id: "c", name: "f", args: '{"a"' });
    part({ args: ":1}" });
    part({ id: "d", name: "g", args: '{"b"' });
    part({ args: ":2}" });
    const [message] = toConversation(withStreamed([], live));
    expect(message?.calls).toMatchObject([
      { id: "c", name: "f", args: { a: 1 } },
      { id: "d", name: "g", args: { b: 2 } },
    ]);
  });

  test("lights nodes up, and begins again with another attempt", () => {
    const live = emptyLiveRun();
    applyEvent(live, event("tasks", { id: "1", name: "a", input: {} }));
    applyEvent(live, event("tasks|a:1|inner:2", { id: "2", name: "deep", input: {} }));
    expect(live.nodes).toEqual({ a: "running", "a:inner:deep": "running" });
    applyEvent(live, event("updates|a:1|inner:2", { deep: null }));
    applyEvent(live, event("tasks", { id: "1", name: "a", result: {}, interrupts: [{ id: "i" }] }));
    applyEvent(live, event("updates", { a: null, __interrupt__: [] }));
    expect(live.nodes).toEqual({ a: "waiting", "a:inner:deep": "done" });
    applyEvent(live, event("error", { error: "RangeError", message: "broke" }));
    expect(live.error).toBe("RangeError: broke");
    applyEvent(live, event("metadata", { run_id: "r", attempt: 2 }));
    expect([live.nodes, live.error]).toEqual([{}, null]);
  });

  test("keeps 500 lines of events, counts the others, and joins those of tokens", () => {
    const live = emptyLiveRun();
    for (let n = 0; n < 502; n++) applyEvent(live, event("updates", { a: n }));
    for (let n = 0; n < 10; n++) applyEvent(live, chunk("x"));
    expect([live.lines.length, live.dropped, live.count]).toEqual([500, 3, 512]);
  });

  test("is read however the bytes of its events are split", async () => {
    const bytes = new TextEncoder().encode(
      ": heartbeat\n\nid: 1\nevent: a\ndata: {}\n\ndata: 2\n\n",
    );
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const events = [];
    for await (const each of readEvents(body)) events.push(each);
    expect(events).toEqual([
      { id: "1", event: "a", data: "{}" },
      { id: null, event: "message", data: "2" },
    ]);
    expect(toEvent("id: 3")).toBeNull();
  });
});
