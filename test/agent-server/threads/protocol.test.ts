import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { Events } from "../../../src/agent-server/threads/object/log/events.ts";
import { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import { EventMethods } from "../../../src/agent-server/threads/object/sockets/event-methods.ts";
import { database } from "../../../src/shared/context.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { createApiKey, revokeApiKey } from "../../support/organizations.ts";
import {
  ALL,
  endOfRun,
  openSocket,
  protocolOf,
  type SentEvent,
  takeUntil,
} from "../../support/protocol.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

const MIB = 1024 * 1024;
const hi = { messages: [{ role: "user", content: "hi" }] };

let ours: TestWorkspace;
let deployment_id: string;
let agent: string;

beforeAll(async () => {
  ours = await workspace();
  ({ deployment_id } = await testDeployment(ours.workspace_id));
  agent = `/agents/${deployment_id}`;
});

const protocol = (thread_id?: string, key = ours.editor) => protocolOf(agent, key, thread_id);

/** Summarizes events: method, node and data. */
function inShort({ method, params }: SentEvent): string {
  const where = params.namespace.map((segment) => segment.split(":")[0]).join("/");
  const { data } = params;
  const event = data.event ?? data.node ?? data.source ?? "";
  return [method, where, event].filter((part) => part !== "").join(" ");
}
const ofMethod = (events: SentEvent[], method: string) =>
  events.filter((event) => event.method === method);
const dataOf = (events: SentEvent[], method: string) =>
  ofMethod(events, method).map(({ params }) => params.data);

function assertInOrder(events: SentEvent[]) {
  const seqs = events.map(({ seq }) => seq);
  expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
  expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(events.length);
}

describe("events", () => {
  test("a first run creates its thread and emits all events in order", async () => {
    const { start, events, path } = protocol();
    const run_id = await start("echo", { input: hi });
    const received = await events(endOfRun());
    expect(received.map(inShort)).toEqual([
      "lifecycle running",
      "checkpoints loop",
      "values",
      "tasks",
      "lifecycle reply started",
      ...["message-start", "content-block-start", "content-block-delta"].map(
        (event) => `messages reply ${event}`,
      ),
      ...["content-block-finish", "message-finish"].map((event) => `messages reply ${event}`),
      "updates reply",
      "tasks",
      "lifecycle reply completed",
      "checkpoints loop",
      "values",
      "lifecycle completed",
    ]);
    assertInOrder(received);
    const root = received.filter(({ event_id }) => event_id.startsWith(`synth:${run_id}:`));
    expect(root.map(inShort)).toEqual(["lifecycle running", "lifecycle completed"]);
    expect(dataOf(received, "lifecycle")[0]).toEqual({ event: "running", graph_name: "echo" });
    const [task] = dataOf(received, "tasks");
    expect(task).toMatchObject({ name: "reply", input: { messages: [{ content: "hi" }] } });
    const [first, last] = dataOf(received, "checkpoints");
    expect(last).toMatchObject({ parent_id: first?.id, step: 1 });
    const state = await api(`${path}/state`, { key: ours.viewer });
    expect(await state.json()).toMatchObject({ checkpoint: { checkpoint_id: last?.id } });
    expect(dataOf(received, "values").at(-1)).toMatchObject({
      messages: [
        { type: "human", content: "hi" },
        { type: "ai", content: "echo: hi" },
      ],
    });
    expect(JSON.stringify(dataOf(received, "values"))).not.toContain("additional_kwargs");
  });

  test("the log of a run stores a state once, however many nodes receive it", async () => {
    const { start, events, path } = protocol();
    const run_id = await start("tokens", { input: hi });
    const received = await events(endOfRun());
    const log = await api(`${path}/runs/${run_id}/stream`, { key: ours.viewer });
    expect((await log.text()).match(/"input_is":"values"/g)).toHaveLength(1);
    expect(dataOf(received, "tasks")[0]?.input).toMatchObject(dataOf(received, "values")[0] ?? {});
  });

  test("tokens come as deltas of the message that the state has in the end", async () => {
    const { start, events } = protocol();
    await start("tokens", { input: hi });
    const received = await events(endOfRun());
    const messages = ofMethod(received, "messages").map(({ params }) => params);
    const deltas = messages.flatMap(({ data }) => (data.delta as { text?: string })?.text ?? []);
    expect(deltas.length).toBeGreaterThan(5);
    expect(deltas.join("")).toBe("one two three");
    expect(messages[0]?.data).toMatchObject({ event: "message-start", role: "ai" });
    expect(messages.at(-2)?.data).toMatchObject({
      event: "content-block-finish",
      index: 0,
      content: { type: "text", text: "one two three" },
    });
    expect(messages.at(-1)?.data).toMatchObject({ event: "message-finish" });
    expect(new Set(messages.map(({ node }) => node))).toEqual(new Set(["model"]));
    expect(new Set(messages.map(({ data }) => data.run_id)).size).toBe(1);
    const { messages: kept } = dataOf(received, "values").at(-1) ?? {};
    expect(kept).toMatchObject([{}, { id: messages[0]?.data.id }]);
  });

  test("graphs within have their own namespace, and custom events may have a name", async () => {
    const { start, events, command } = protocol();
    await start("nested");
    const received = await events(endOfRun());
    const within = received.filter(({ params }) => params.namespace[0]?.startsWith("inner:"));
    expect(within.map(inShort)).toEqual([
      "lifecycle inner started",
      "checkpoints inner loop",
      "values inner",
      "tasks inner",
      "custom inner",
      "updates inner deep",
      "tasks inner",
      "checkpoints inner loop",
      "values inner",
      "lifecycle inner completed",
    ]);
    expect(dataOf(within, "custom")).toEqual([{ payload: { from: "deep" } }]);
    const { result } = await command("agent.getTree", {});
    const [namespace] = within.map(({ params }) => params.namespace);
    expect(result).toEqual({
      tree: {
        namespace: [],
        graph_name: "nested",
        status: "completed",
        children: [{ namespace, graph_name: "inner", status: "completed" }],
      },
    });
    const named = protocol();
    await named.start("says", { input: hi });
    const progress = (channels: string[]) =>
      named.events(({ method }) => method === "custom", { channels });
    const [own] = await progress(["custom:progress"]);
    expect(own?.params.data).toEqual({ name: "progress", payload: { done: 0.5 } });
    const [first] = await progress(["custom"]);
    expect(first?.params.data).toEqual({ payload: { step: 1 } });
  });

  test("a tool's call, its input and its output", async () => {
    const { start, events } = protocol();
    await start("tooled", { input: hi });
    const received = await events(endOfRun());
    const [started, finished] = dataOf(received, "tools");
    expect(started).toMatchObject({ event: "tool-started", tool_name: "look_up" });
    expect(finished).toMatchObject({ event: "tool-finished", output: "sunny in Rome" });
    expect(finished?.tool_call_id).toBe(started?.tool_call_id);
  });

  test("a plain function has the events that a graph of one node would have", async () => {
    const { start, events } = protocol();
    await start("plain", { input: { text: "hi" } });
    const received = await events(endOfRun());
    expect(received.map(inShort).filter((short) => !short.startsWith("messages"))).toEqual([
      "lifecycle running",
      "checkpoints input",
      "values",
      "tasks",
      "custom",
      "updates plain",
      "values",
      "updates plain",
      "values",
      "tasks",
      "checkpoints loop",
      "lifecycle completed",
    ]);
    const names = dataOf(received, "messages").map(({ event }) => event);
    expect([names[0], names.at(-1)]).toEqual(["message-start", "message-finish"]);
  });

  test("a failure ends the root with its error", async () => {
    const { start, events } = protocol();
    await start("fails");
    const [end] = dataOf(await events(endOfRun()), "lifecycle").slice(-1);
    expect(end).toMatchObject({ event: "failed", graph_name: "fails" });
    const error = { error: "RangeError", message: "the node broke" };
    expect(JSON.parse(String(end?.error))).toEqual(error);
  });

  test("a filter by channel, namespace and depth is exact, and changes no event", async () => {
    const { start, events, open } = protocol();
    await start("team", { input: hi });
    const all = await events(endOfRun());
    const of = async (json: object, isMeant: (event: SentEvent) => boolean) => {
      const meant = all.filter(isMeant);
      const last = meant.at(-1)?.event_id;
      expect(await events(({ event_id }) => event_id === last, json)).toEqual(meant);
      expect(meant.length).toBeGreaterThan(0);
    };
    await of({ channels: ["lifecycle"] }, ({ method }) => method === "lifecycle");
    await of({ channels: ["messages"] }, ({ method }) => method === "messages");
    await of(
      { channels: ["values", "updates"], namespaces: [["writer"]] },
      ({ method, params }) =>
        ["values", "updates"].includes(method) &&
        params.namespace[0]?.startsWith("writer:") === true,
    );
    const [segment = ""] =
      all.find(({ params }) => params.namespace.length === 1)?.params.namespace ?? [];
    await of(
      { channels: ALL.channels, namespaces: [[segment]], depth: 0 },
      ({ params }) => params.namespace.length === 1 && params.namespace[0] === segment,
    );
    const root = { channels: ALL.channels, namespaces: [[]], depth: 0 };
    await of(root, ({ params }) => params.namespace.length === 0);
    await of({ channels: ["values"], depth: 0 }, ({ method }) => method === "values");
    const half = all[Math.floor(all.length / 2)];
    const rest = await takeUntil(await open({ ...ALL, since: half?.seq }), endOfRun());
    expect(rest).toEqual(all.slice(Math.floor(all.length / 2) + 1));
    const resumed = await api(`${protocol().path}`, {});
    expect(resumed.status).toBe(401);
  });

  test("the sequence continues over runs, REST's too, and is the same for all readers", async () => {
    const { start, events, thread_id, open } = protocol();
    await start("echo", { input: hi });
    const first = await events(endOfRun());
    const watching = takeUntil(await open(), endOfRun(3));
    const body = { assistant_id: "echo", input: hi, stream_mode: ["values", "messages-tuple"] };
    const path = `${agent}/threads/${thread_id}/runs/wait`;
    await api(path, { key: ours.editor, json: body }).then((response) => response.text());
    await start("echo", { input: hi });
    const live = await watching;
    assertInOrder(live);
    expect(live.slice(0, first.length)).toEqual(first);
    const again = await events(endOfRun(3));
    expect(again).toEqual(live);
    const rest = live.slice(first.length);
    const isEnd = endOfRun();
    const ofRest = rest.slice(0, rest.findIndex((event) => isEnd(event)) + 1);
    expect(ofRest.map(inShort)).toEqual([
      "lifecycle running",
      "values",
      ...["message-start", "content-block-start", "content-block-delta"].map(
        (event) => `messages ${event}`,
      ),
      ...["content-block-finish", "message-finish"].map((event) => `messages ${event}`),
      "values",
      "lifecycle completed",
    ]);
    expect(rest.slice(ofRest.length).map(inShort).at(-1)).toBe("lifecycle completed");
    const now = Date.now();
    expect(live.every(({ params }) => now - params.timestamp < 60_000)).toBe(true);
  });

  test("a run that is undone ends for who saw it, and for who comes later", async () => {
    const { start, events, path, open } = protocol();
    await start("echo", { input: hi });
    await events(endOfRun());
    const watching = takeUntil(await open({ channels: ["lifecycle"] }), endOfRun(2));
    const run_id = await start("steps", { input: { delay_ms: 10_000 } });
    const isSecond = ({ event_id }: SentEvent) => event_id.startsWith(`synth:${run_id}`);
    await events(isSecond);
    const cancel = `${path}/runs/${run_id}/cancel?action=rollback&wait=1`;
    await api(cancel, { key: ours.editor, method: "POST" });
    const seen = (await watching).map(inShort);
    expect(seen.slice(-2)).toEqual(["lifecycle running", "lifecycle interrupted"]);
    const later = await events(endOfRun(2), { channels: ["lifecycle"] });
    expect(later.map(inShort).at(-1)).toBe("lifecycle interrupted");
  });

  test("a run that is undone after a delayed run ends, though newer runs have expired", async () => {
    const { start, events, path, thread_id } = protocol();
    await start("echo", { input: hi });
    const delayed = { assistant_id: "echo", input: hi, after_seconds: 3600 };
    await api(`${path}/runs`, { key: ours.editor, json: delayed });
    const newer = await start("echo", { input: hi });
    await events(endOfRun(2));
    const stub = () => env.THREADS.getByName(`${deployment_id}/${thread_id}`);
    const longAgo = Date.now() - 30 * 3_600_000;
    const crash = runInDurableObject(stub(), async (_thread, state) => {
      const { sql } = state.storage;
      sql.exec("UPDATE runs SET ended_at = ? WHERE ended_at IS NOT NULL", longAgo);
      sql.exec("UPDATE runs SET due_at = ? WHERE started_at IS NULL", Date.now());
      await state.storage.sync();
      state.abort("crash");
    });
    await crash.catch(() => {});
    await runDurableObjectAlarm(stub());
    const isOfNewer = ({ event_id }: SentEvent) => event_id.includes(newer);
    expect((await events(endOfRun())).some(isOfNewer)).toBe(false);
    const run_id = await start("steps", { input: { delay_ms: 10_000 } });
    await events(({ event_id }) => event_id.startsWith(`synth:${run_id}`));
    const cancel = `${path}/runs/${run_id}/cancel?action=rollback&wait=1`;
    await api(cancel, { key: ours.editor, method: "POST" });
    const later = await events(endOfRun(2), { channels: ["lifecycle"] });
    expect(later.map(inShort).at(-1)).toBe("lifecycle interrupted");
  });

  test("a cancelled run ends interrupted, and what it was saying is given up", async () => {
    const { start, events, path } = protocol();
    const run_id = await start("says", { input: hi });
    await events(({ params }) => params.data.event === "content-block-delta");
    await api(`${path}/runs/${run_id}/cancel?wait=1`, { key: ours.editor, method: "POST" });
    const received = await events(endOfRun());
    expect(received.slice(-3).map(inShort)).toEqual([
      "messages model error",
      "lifecycle model interrupted",
      "lifecycle interrupted",
    ]);
  });

  test("a stream stays open when its runs are over, and ends with its thread", async () => {
    const { start, events, open, path } = protocol();
    await start("echo", { input: hi });
    await events(endOfRun());
    const all = takeUntil(await open({ channels: ["lifecycle"] }), endOfRun(99));
    await start("echo", { input: hi });
    await events(endOfRun(2));
    await api(path, { key: ours.editor, method: "DELETE" });
    const ends = (await all).filter(({ params }) => params.data.event === "completed");
    expect(ends.filter(({ params }) => params.namespace.length === 0)).toHaveLength(2);
  });

  test("a reader may be there before its thread", async () => {
    const { start, open } = protocol();
    const watching = takeUntil(await open({ channels: ["lifecycle"] }), endOfRun());
    await start("nested");
    expect((await watching).map(inShort).at(-1)).toBe("lifecycle completed");
  });
});

describe("interrupts", () => {
  test("an interrupt of a subgraph is emitted once, with its namespace, and resumed", async () => {
    const { start, events, command } = protocol();
    await start("interrupts_within");
    const received = await events(endOfRun());
    const [requested, ...others] = ofMethod(received, "input.requested");
    expect(others).toEqual([]);
    expect(requested?.params.namespace.map((segment) => segment.split(":")[0])).toEqual(["asker"]);
    expect(requested?.params.data).toMatchObject({ payload: { question: "first?" } });
    expect(received.map(inShort).at(-1)).toBe("lifecycle interrupted");
    const { interrupt_id } = requested?.params.data ?? {};
    const first = { interrupt_id, response: "one", namespace: requested?.params.namespace };
    expect(await command("input.respond", first)).toMatchObject({ type: "success", result: {} });
    const more = (await events(endOfRun(2))).slice(received.length);
    expect(dataOf(more, "input.requested")).toMatchObject([{ payload: { question: "second?" } }]);
    const [second] = dataOf(more, "input.requested");
    const responses = [{ interrupt_id: second?.interrupt_id, response: "two", namespace: [] }];
    expect(await command("input.respond", { responses })).toMatchObject({ type: "success" });
    const all = await events(endOfRun(3));
    assertInOrder(all);
    expect(dataOf(all, "values").at(-1)).toEqual({ log: ["before", "one two", "done"] });
    expect(all.map(inShort).at(-1)).toBe("lifecycle completed");
  });

  test("two at one time are answered in one run, or one after the other", async () => {
    const { start, events, command } = protocol();
    await start("interrupts_both");
    const requested = dataOf(await events(endOfRun()), "input.requested");
    expect(requested.map(({ payload }) => payload).sort()).toEqual(["left?", "right?"]);
    const responses = requested.map(({ interrupt_id, payload }) => ({
      interrupt_id,
      response: `to ${String(payload)}`,
    }));
    expect((await command("input.respond", { responses })).type).toBe("success");
    const [end] = dataOf(await events(endOfRun(2)), "values").slice(-1);
    expect([end?.log].flat().sort()).toEqual(["left: to left?", "right: to right?"]);
    const other = protocol();
    await other.start("interrupts_both");
    const [one] = dataOf(await other.events(endOfRun()), "input.requested");
    await other.command("input.respond", { ...one, response: "first" });
    const rest = (await other.events(endOfRun(2))).map(inShort);
    expect(rest.at(-1)).toBe("lifecycle interrupted");
  });

  test("an answer before the end of the run that interrupts waits for that end", async () => {
    const { start, events, command } = protocol();
    await start("interrupts_both", { input: { delay_ms: 2_000 } });
    const seen = await events(({ method }) => method === "input.requested");
    expect(seen.map(inShort)).not.toContain("lifecycle interrupted");
    const [{ interrupt_id } = {}] = dataOf(seen, "input.requested");
    const answer = await command("input.respond", { interrupt_id, response: "yes" });
    expect(answer, JSON.stringify(answer)).toMatchObject({ type: "success" });
    const [first, second] = dataOf(await events(endOfRun(2)), "input.requested");
    expect([first, second]).toMatchObject([{ payload: "left?" }, { payload: "right?" }]);
  });

  test("the input of a new run resumes the pending interrupt", async () => {
    const { start, events, command } = protocol();
    await start("ask");
    await events(endOfRun());
    await start("ask", { input: "yes" });
    const received = await events(endOfRun(2));
    expect(dataOf(received, "values").at(-1)).toEqual({ log: ["answer: yes", "done"] });
    expect(await command("state.get", { namespace: [], keys: ["log"] })).toMatchObject({
      result: { values: { log: ["answer: yes", "done"] }, checkpoint: { ns: "" } },
    });
  });

  test("of two responses, the second fails without a pending interrupt", async () => {
    const { start, events, command } = protocol();
    await start("ask");
    const [requested] = dataOf(await events(endOfRun()), "input.requested");
    const answer = { interrupt_id: requested?.interrupt_id, response: "yes" };
    const both = await Promise.all([1, 2].map(() => command("input.respond", answer)));
    expect(both.map(({ type, error }) => error ?? type).sort()).toEqual([
      "invalid_argument",
      "success",
    ]);
  });

  test("a fork starts from its checkpoint, whatever interrupt is pending", async () => {
    const { start, events } = protocol();
    await start("ask", { input: { log: ["a"] } });
    const [input] = dataOf(await events(endOfRun()), "checkpoints");
    const config = { configurable: { checkpoint_id: input?.id } };
    await start("ask", { input: { log: ["b"] }, config });
    const received = (await events(endOfRun(2))).slice(-4);
    expect(dataOf(await events(endOfRun(2)), "values").at(-1)).toEqual({ log: ["a", "b"] });
    expect(received.map(inShort).at(-1)).toBe("lifecycle interrupted");
  });
});

describe("commands", () => {
  test("events during a read of the state are after the position that it returns", async () => {
    const { start, events, command } = protocol();
    await start("echo", { input: hi });
    await events(endOfRun());
    const before = await command("agent.getTree", {});
    const { call } = ThreadObject.prototype;
    vi.spyOn(ThreadObject.prototype, "call").mockImplementation(async function (
      this: ThreadObject,
      ...args
    ) {
      const result = await call.apply(this, args);
      if (JSON.stringify(args).includes("getState")) await runMore();
      return result;
    });
    const runMore = async () => {
      vi.restoreAllMocks();
      await start("echo", { input: hi });
      await events(endOfRun(2));
    };
    const { type, meta } = await command("state.get", { namespace: [] });
    expect([type, meta]).toEqual(["success", before.meta]);
  });

  test("a read of the state reads no events", async () => {
    const { start, events, command } = protocol();
    await start("echo", { input: hi });
    await events(endOfRun());
    const page = vi.spyOn(Events.prototype, "page");
    onTestFinished(() => page.mockRestore());
    expect(await command("state.get", { namespace: [] })).toMatchObject({ type: "success" });
    expect(page).not.toHaveBeenCalled();
  });

  test("a command that must be an object is refused with the reason alone", async () => {
    const { send, answer } = await protocol().socket();
    send("[]");
    expect(await answer(null)).toMatchObject({
      error: "invalid_argument",
      message: expect.stringMatching(/^Invalid command: \w/),
    });
  });

  test("what is wrong with one is its answer, with its code", async () => {
    const { command, start, events } = protocol();
    const codes = async (method: string, params: unknown) => (await command(method, params)).error;
    expect(await codes("input.respond", { interrupt_id: "x", response: 1 })).toBe("no_such_run");
    expect(await codes("agent.getTree", {})).toBe("no_such_run");
    expect(await codes("state.get", { namespace: [] })).toBe("no_such_checkpoint");
    expect(await codes("run.start", { assistant_id: "none", input: {} })).toBe("invalid_argument");
    expect(await codes("run.start", { input: {} })).toBe("invalid_argument");
    await start("ask");
    await events(endOfRun());
    expect(await codes("input.respond", { interrupt_id: "x", response: 1 })).toBe(
      "no_such_interrupt",
    );
    expect(await codes("input.respond", { response: 1 })).toBe("invalid_argument");
    expect(await codes("agent.getTree", { run_id: crypto.randomUUID() })).toBe("no_such_run");
    expect(await codes("state.get", { namespace: ["nowhere"] })).toBe("no_such_namespace");
    expect(await codes("subscription.reconnect", {})).toBe("not_supported");
    expect(await codes("subscription.subscribe", ALL)).toBe("not_supported");
    expect(await codes("state.fork", {})).toBe("unknown_command");
    expect(await codes("toString", {})).toBe("unknown_command");
    const bad = { assistant_id: "echo", input: {}, multitaskStrategy: "perhaps" };
    expect(await command("run.start", bad)).toMatchObject({
      error: "invalid_argument",
      message: expect.stringContaining("multitaskStrategy"),
    });
  });

  test("both spellings of the strategy, of which the SDK's comes first", async () => {
    const { command, start } = protocol();
    await start("steps", { input: { delay_ms: 600_000 } });
    const once = (strategy: object) =>
      command("run.start", { assistant_id: "steps", input: { delay_ms: 0 }, ...strategy });
    const busy = { error: "invalid_argument", message: expect.stringMatching(/already running/) };
    expect(await once({ multitask_strategy: "reject" })).toMatchObject(busy);
    expect(await once({ multitaskStrategy: "reject" })).toMatchObject(busy);
    const both = { multitaskStrategy: "interrupt", multitask_strategy: "reject" };
    expect(await once(both)).toMatchObject({ type: "success" });
  });

  test("applied_through_seq separates earlier events from those of the run", async () => {
    const { command, start, events } = protocol();
    await start("echo", { input: hi });
    const before = await events(endOfRun());
    const { meta, result } = await command("run.start", { assistant_id: "echo", input: hi });
    const applied = meta?.applied_through_seq ?? 0;
    const all = await events(endOfRun(2));
    expect(all.filter(({ seq }) => seq <= applied)).toEqual(before);
    const [running] = all.slice(before.length);
    expect(running?.event_id).toContain(String(result?.run_id));
  });

  test("a malformed one is a 400, one that the role forbids a 403", async () => {
    const { path, open } = protocol();
    const post = (json: unknown, key = ours.editor) => api(`${path}/commands`, { key, json });
    for (const json of [{}, { id: -1, method: "run.start" }, { id: 1 }, { id: "1", method: "a" }]) {
      expect((await post(json)).status).toBe(400);
    }
    const start = { id: 1, method: "run.start", params: { assistant_id: "echo", input: hi } };
    expect((await post(start, ours.viewer)).status).toBe(403);
    for (const json of [
      { channels: ["values"], extra: 1 },
      { channels: ["everything"] },
      { channels: "values" },
      { channels: ["values"], namespaces: ["inner"] },
      { channels: ["values"], depth: -1 },
    ]) {
      expect((await open(json)).status).toBe(400);
    }
  });
});

describe("a socket", () => {
  const place = (thread_id: string) => env.THREADS.getByName(`${deployment_id}/${thread_id}`);

  test("commands, responses and events, from before the thread exists", async () => {
    const { socket, events } = protocol();
    const { command, ends, until, messages, events: sent } = await socket();
    const subscribed = await command("subscription.subscribe", ALL);
    expect(subscribed).toMatchObject({
      type: "success",
      result: { subscription_id: expect.any(String), replayed_events: 0 },
    });
    const started = await command("run.start", { assistant_id: "echo", input: hi });
    expect(started).toMatchObject({ type: "success", result: { run_id: expect.any(String) } });
    await ends(1);
    expect(sent()).toEqual(await events(endOfRun()));
    const own = await command("subscription.subscribe", { channels: ["values"] });
    expect(own.result).toMatchObject({ replayed_events: 2 });
    const at = messages.indexOf(own);
    await until(() => (messages.length > at + 2 ? true : undefined));
    const replayed = messages.slice(at + 1) as SentEvent[];
    expect(replayed).toEqual(ofMethod(sent().slice(0, -2), "values"));
  });

  test("the response to a run.start precedes the run's events", async () => {
    const { socket } = protocol();
    const { command, ends, until, messages } = await socket();
    await command("subscription.subscribe", ALL);
    const requested = (n: number) =>
      until(() => {
        const questions = messages.filter(
          (message): message is SentEvent =>
            message.type === "event" && message.method === "input.requested",
        );
        return questions[n - 1];
      });
    const begun = [await command("run.start", { assistant_id: "interrupts_within", input: {} })];
    for (const n of [1, 2]) {
      const { params } = await requested(n);
      const interrupt_id = params.data.interrupt_id;
      const { namespace } = params;
      begun.push(await command("input.respond", { interrupt_id, namespace, response: `${n}` }));
    }
    await ends(3);
    const inOrder = messages.flatMap((message) => {
      if (message.type !== "event") return begun.includes(message) ? ["answer"] : [];
      return message.params.data.event === "running" ? ["running"] : [];
    });
    expect(begun.map(({ type }) => type)).toEqual(["success", "success", "success"]);
    expect(inOrder).toEqual(["answer", "running", "answer", "running", "answer", "running"]);
  });

  test("receives each event once, whatever its subscriptions, and none after unsubscribing", async () => {
    const { socket, start, events } = protocol();
    const { command, ends, events: sent } = await socket();
    const all = await command("subscription.subscribe", ALL);
    await command("subscription.subscribe", { channels: ["lifecycle", "values"] });
    await start("tokens", { input: hi });
    await ends(1);
    expect(sent()).toEqual(await events(endOfRun()));
    const { subscription_id } = all.result ?? {};
    expect(await command("subscription.unsubscribe", { subscription_id })).toMatchObject({
      type: "success",
    });
    expect(await command("subscription.unsubscribe", { subscription_id })).toMatchObject({
      error: "no_such_subscription",
    });
    const before = sent().length;
    await start("tokens", { input: hi });
    await ends(2);
    const methods = new Set(
      sent()
        .slice(before)
        .map(({ method }) => method),
    );
    expect(methods).toEqual(new Set(["lifecycle", "values"]));
  });

  test("continues after a sequence number, as the Python SDK connects", async () => {
    const { socket, start, events } = protocol();
    await start("echo", { input: hi });
    const all = await events(endOfRun());
    const { command, ends, events: sent } = await socket();
    const since = all[2]?.seq;
    expect(await command("subscription.subscribe", { ...ALL, since })).toMatchObject({
      type: "success",
    });
    await ends(1);
    expect(sent()).toEqual(all.slice(3));
  });

  test("receives the end of a threadless run, as a stream does", async () => {
    const json = { assistant_id: "steps", input: { delay_ms: 300 } };
    const response = await api(`${agent}/runs`, { key: ours.editor, json });
    const { thread_id } = await response.json<{ thread_id: string }>();
    const { socket, events } = protocol(thread_id);
    const { command, ends, events: sent } = await socket();
    await command("subscription.subscribe", ALL);
    const [streamed] = await Promise.all([events(() => false), ends(1)]);
    expect(sent()).toEqual(streamed);
    expect(streamed.slice(-1).map(inShort)).toEqual(["lifecycle completed"]);
  });

  test("hibernates with its object, and receives later events", async () => {
    const { socket, start, events, thread_id } = protocol();
    const { command, ends, events: sent } = await socket();
    const filter = { channels: ["lifecycle", "messages"] };
    await command("subscription.subscribe", filter);
    await start("echo", { input: hi });
    await ends(1);
    await evictDurableObject(place(thread_id));
    await start("echo", { input: hi });
    await ends(2);
    await evictDurableObject(place(thread_id));
    const restarted = await command("run.start", { assistant_id: "echo", input: hi });
    expect(restarted.type).toBe("success");
    await ends(3);
    expect(sent()).toEqual(await events(endOfRun(3), filter));
  });

  test("a subscription in the middle of a message gets it from its start, others go on", async () => {
    const { socket, start, events } = protocol();
    const { command, ends, events: sent } = await socket();
    await command("subscription.subscribe", { channels: ["lifecycle"] });
    await start("says", { input: hi });
    await events(({ params }) => params.data.event === "content-block-delta");
    await command("subscription.subscribe", { channels: ["messages"] });
    await ends(1);
    const all = await events(endOfRun());
    const received = [...sent()].sort((a, b) => a.seq - b.seq);
    expect(received).toEqual(
      all.filter(({ method }) => ["lifecycle", "messages"].includes(method)),
    );
    assertInOrder(ofMethod(sent(), "messages"));
  });

  test("refuses invalid commands, and stays open", async () => {
    const { socket } = protocol();
    const { send, answer, command } = await socket();
    send("{");
    const refused = await answer(null);
    expect(refused).toMatchObject({ id: null, error: "invalid_argument" });
    expect(await command("subscription.subscribe", { channels: ["all"] })).toMatchObject({
      error: "invalid_argument",
    });
    expect(await command("nonsense", {})).toMatchObject({ error: "unknown_command" });
    expect(await command("agent.getTree", {})).toMatchObject({ error: "no_such_run" });
  });

  test("logs the error of a command that fails", async () => {
    const { command } = await protocol().socket();
    const read = vi.spyOn(EventMethods.prototype, "readTree");
    const logged = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => {
      read.mockRestore();
      logged.mockRestore();
    });
    read.mockRejectedValueOnce(new Error("the tree broke"));
    expect(await command("agent.getTree", {})).toMatchObject({
      error: "unknown_error",
      message: "Internal error",
    });
    const lines = logged.mock.calls.map(([line]) => String(line));
    expect(lines).toContainEqual(expect.stringMatching(/"socket_command_failed".*the tree broke/));
  });

  test("has so many subscriptions, each as long as it is kept", async () => {
    const { socket } = protocol();
    const { command } = await socket();
    const long = { channels: ["values"], namespaces: [["x".repeat(500)]] };
    const answers = [];
    for (let n = 0; n < 65; n++) answers.push(await command("subscription.subscribe", long));
    const taken = answers.filter(({ type }) => type === "success");
    expect(taken.length).toBeGreaterThan(10);
    expect(answers.at(-1)).toMatchObject({
      error: "invalid_argument",
      message: expect.stringContaining("limit of 64 subscriptions"),
    });
    const { subscription_id } = taken[0]?.result ?? {};
    await command("subscription.unsubscribe", { subscription_id });
    expect((await command("subscription.subscribe", long)).type).toBe("success");
  });

  test.each<{ sent: [number?, string?]; received: { code: number; reason: string } }>([
    { sent: [], received: { code: 1000, reason: "" } },
    { sent: [1000, "done"], received: { code: 1000, reason: "done" } },
    { sent: [4001, "later"], received: { code: 4001, reason: "later" } },
  ])("answers a close with $sent by a close with $received", async ({ sent, received }) => {
    const { socket } = protocol();
    const { command, close, closed } = await socket();
    await command("subscription.subscribe", ALL);
    close(...sent);
    expect(await closed).toEqual(received);
  });

  test("closes with the status that HTTP would have", async () => {
    const { path, socket, command } = protocol();
    const closed = async (at: string, headers: Record<string, string>) =>
      (await openSocket(at, headers)).closed;
    expect(await closed(path, {})).toMatchObject({ code: 4401 });
    expect(await closed(path, { "X-Api-Key": "lsv2_sk_wrong" })).toMatchObject({ code: 4401 });
    const nowhere = path.replace(deployment_id, crypto.randomUUID());
    const ownKey = { "X-Api-Key": ours.editor };
    expect(await closed(nowhere, ownKey)).toMatchObject({ code: 4404 });
    const theirs = { "X-Api-Key": (await workspace()).editor };
    expect(await closed(path, theirs)).toMatchObject({ code: 4404 });
    const gone = await socket();
    await gone.command("subscription.subscribe", ALL);
    await command("run.start", { assistant_id: "echo", input: hi });
    await api(path, { key: ours.editor, method: "DELETE" });
    expect(await gone.closed).toMatchObject({ code: 4404 });
    expect((await api(`${path}/stream/events`, { key: ours.viewer })).status).toBe(400);
  });

  test("closes instead of sending more than 64 Mi characters, and SSE continues with since", async () => {
    const { socket, start, events } = protocol();
    const filter = { channels: ["lifecycle", "values"] };
    await start("echo", { input: { messages: [{ role: "user", content: "x".repeat(4 * MIB) }] } });
    const { command, ends, closed, events: sent } = await socket();
    await command("subscription.subscribe", filter);
    await ends(1);
    const all = sent().slice();
    const charactersOf = (list: SentEvent[]) => JSON.stringify(list).length;
    expect(charactersOf(all)).toBeGreaterThan(8 * MIB);
    const again = 64 / 8;
    for (let n = 0; n < again; n++) void command("subscription.subscribe", filter);
    expect(await closed).toEqual({ code: 4413, reason: expect.stringMatching(/SSE.*since/) });
    expect(charactersOf(sent())).toBeGreaterThan(48 * MIB);
    expect(charactersOf(sent())).toBeLessThanOrEqual(64 * MIB + 1024);
    const ids = (list: SentEvent[]) => list.map(({ event_id }) => event_id);
    const last = sent()
      .filter((event) => !endOfRun()(event))
      .at(-1);
    const rest = await events(endOfRun(), { ...filter, since: last?.seq });
    const seen = all.filter(({ seq }) => seq <= (last?.seq ?? 0));
    expect(ids([...seen, ...rest])).toEqual(ids(all));
  }, 60_000);

  test("takes a credential from a browser, which can send no header", async () => {
    const { path } = protocol();
    const credential = btoa(ours.editor)
      .replaceAll("+", "-")
      .replaceAll("/", "_")
      .replace(/=+$/, "");
    const protocols = (name: string) => ({
      "Sec-WebSocket-Protocol": `heddle, heddle.auth.${name}`,
    });
    const { command, answered } = await openSocket(path, protocols(credential));
    expect(answered.get("Sec-WebSocket-Protocol")).toBe("heddle");
    expect(await command("run.start", { assistant_id: "echo", input: hi })).toMatchObject({
      type: "success",
    });
    const wrong = await openSocket(path, protocols("bm9uZQ"));
    expect(wrong.answered.get("Sec-WebSocket-Protocol")).toBe("heddle");
    expect(await wrong.closed).toMatchObject({ code: 4401 });
  });

  test("a viewer reads and starts nothing", async () => {
    const { start, thread_id } = protocol();
    await start("echo", { input: hi });
    const { command, ends } = await protocol(thread_id, ours.viewer).socket();
    await command("subscription.subscribe", ALL);
    await ends(1);
    expect(await command("run.start", { assistant_id: "echo", input: hi })).toMatchObject({
      error: "permission_denied",
    });
  });

  test("a revoked key receives no events after a minute, by stream or socket", async () => {
    const { organization_id, workspace_id } = ours;
    const db = database(env);
    const made = { kind: "service", organization_id, workspace_id, role: "viewer" } as const;
    const { id: api_key_id, api_key } = await createApiKey(db, made);
    const { thread_id, start, events } = protocol();
    await start("echo", { input: hi });
    const first = await events(endOfRun());
    const revoked = protocol(thread_id, api_key);
    const stream = takeUntil(await revoked.open(), endOfRun(2));
    const socket = await revoked.socket();
    await socket.command("subscription.subscribe", ALL);
    await socket.ends(1);
    await revokeApiKey(db, { organization_id, api_key_id });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
    try {
      await start("echo", { input: hi });
      expect(await stream).toEqual(first);
      expect(await socket.closed).toMatchObject({ code: 4401 });
      expect(socket.events()).toEqual(first);
    } finally {
      vi.useRealTimers();
    }
  });

  test("a key that is revoked commands nothing more", async () => {
    const { organization_id, workspace_id } = ours;
    const db = database(env);
    const made = { kind: "service", organization_id, workspace_id, role: "editor" } as const;
    const { id: api_key_id, api_key } = await createApiKey(db, made);
    const { command } = await protocol(undefined, api_key).socket();
    const start = { assistant_id: "echo", input: hi };
    expect((await command("run.start", start)).type).toBe("success");
    await revokeApiKey(db, { organization_id, api_key_id });
    expect(await command("run.start", start)).toMatchObject({ error: "permission_denied" });
  });
});
