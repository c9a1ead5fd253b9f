import fc from "fast-check";
import { expect, test } from "vitest";
import { toTaskEvents } from "../../../src/agent-server/a2a/stream.ts";
import { V0_3 } from "../../../src/agent-server/a2a/task.ts";
import { CHANNELS } from "../../../src/agent-server/threads/events/event.ts";
import { RunEvents } from "../../../src/agent-server/threads/events/run-events.ts";

/** Events of a run as hostile code writes them: JSON, of any shape under any name. */

const KINDS = ["values", "updates", "tasks", "checkpoints", "custom", "tools", "messages"];
const NAMES = [...KINDS, "messages/partial", "messages/complete", "metadata", "error", "debug"];
const FIELDS = [
  ...["id", "type", "content", "name", "tool_calls", "tool_call_chunks", "invalid_tool_calls"],
  ...["response_metadata", "additional_kwargs", "usage_metadata", "index", "args", "text"],
  ...["result", "interrupts", "__interrupt__", "input", "tool_call", "metadata", "checkpoint"],
  ...["parent_checkpoint", "payload", "event", "error", "data", "toolCallId", "lc_agent_name"],
];
const scalar = fc.constantFrom<unknown[]>(null, 7, "x", "", true, { toString: 1 }, "text", "ai");
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    fc.array(tie("tree"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...FIELDS), tie("tree"), { maxKeys: 4, noNullPrototype: true }),
  ),
}));
const row = fc.record({
  event: fc
    .tuple(fc.constantFrom(...NAMES), fc.constantFrom("", "|a:1", "|a:1|b:2"))
    .map((parts) => parts.join("")),
  data: tree.map((value) => JSON.stringify(value)),
});

const END = { status: "success", ended_at: 9, error: null, interrupts: null };

test("a v2 reader reads to the end of the run, whatever its events hold", () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 8 }), (rows) => {
      const log = new RunEvents({ run_id: "run", graph_id: "agent" }, new Set(CHANNELS));
      for (const [n, { event, data }] of rows.entries())
        log.toProtocolEvents({ id: n + 1, event, data }, 1);
      const ended = log.end(END as never, rows.length, 1);
      expect(ended.at(-1)).toMatchObject({ method: "lifecycle", namespace: [] });
      expect(ended.at(-1)?.data).toContain('"event":"completed"');
      log.tree("completed");
    }),
    { seed: 7, numRuns: 3000 },
  );
});

test("an a2a reader reads to the end of the run, whatever its events hold", async () => {
  const standing = {
    task_id: "t",
    path: "",
    thread_id: "c",
    status: "success",
    values: {},
    interrupts: [],
    error: null,
  } as never;
  await fc.assert(
    fc.asyncProperty(fc.array(tree, { maxLength: 5 }), async (data) => {
      const frames = data.map((one) => `event: messages\ndata: ${JSON.stringify(one)}\nid: 1\n\n`);
      const events = new Response(frames.join("")).body as ReadableStream;
      const sent = await new Response(
        toTaskEvents(1, standing, events, async () => standing, V0_3),
      ).text();
      expect(sent).toContain('"final":true');
    }),
    { seed: 7, numRuns: 500 },
  );
});
