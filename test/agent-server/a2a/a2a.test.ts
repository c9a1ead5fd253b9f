import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { toTaskEvents, toWaitedAnswer } from "../../../src/agent-server/a2a/stream.ts";
import { type TaskSnapshot, V0_3 } from "../../../src/agent-server/a2a/task.ts";
import {
  deleteTasksOf,
  findTask,
  replaceRun,
  sweepTasks,
} from "../../../src/agent-server/a2a/task-rows.ts";
import { AppError } from "../../../src/shared/errors.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { agentWithUsers } from "../../support/agent-users.ts";
import { systemContext } from "../../support/deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Part = { kind: string; text?: string; data?: unknown };
type Task = {
  kind: string;
  id: string;
  contextId: string;
  status: { state: string; message?: { role: string; parts: Part[] } };
  artifacts: { artifactId: string; parts: Part[] }[];
  history?: { role: string; parts: Part[] }[];
};
type Answer = { id: number; result?: Task; error?: { code: number; message: string } };
type Event = {
  kind: string;
  final?: boolean;
  append?: boolean;
  artifact?: Task["artifacts"][0];
} & {
  status?: Task["status"];
};

let ours: TestWorkspace;
let agent: string;
let deployment_id: string;
beforeAll(async () => {
  ours = await workspace();
  ({ deployment_id } = await testDeployment(ours.workspace_id));
  agent = `/agents/${deployment_id}`;
});

const TASK: TaskSnapshot = {
  ...{ task_id: "1", thread_id: "2", run_id: "1", status: "pending", updated_at: "2026" },
  ...{ error: null, values: null, interrupts: [] },
};

const text = (words: string): Part => ({ kind: "text", text: words });
const data = (object: unknown): Part => ({ kind: "data", data: object });

function send(assistant: string, method: string, params: unknown, key = ours.editor) {
  const json = { jsonrpc: "2.0", id: 3, method, params };
  return api(`${agent}/a2a/${assistant}`, { key, json });
}

async function call(assistant: string, method: string, params: unknown): Promise<Answer> {
  const response = await send(assistant, method, params);
  expect(response.status).toBe(200);
  const answer = await response.json<Answer>();
  expect(answer.id).toBe(3);
  return answer;
}

function message(parts: Part[], more: object = {}, configuration: object = {}) {
  const words = { kind: "message", role: "user", messageId: crypto.randomUUID(), parts, ...more };
  return { message: words, configuration };
}

async function send_(assistant: string, ...args: Parameters<typeof message>): Promise<Task> {
  const { result, error } = await call(assistant, "message/send", message(...args));
  if (!result) throw new Error(error?.message);
  return result;
}

const get = async (id: string, more: object = {}) =>
  (await call("echo", "tasks/get", { id, ...more })).result;

async function stream(assistant: string, params: unknown, method = "message/stream") {
  const response = await send(assistant, method, params);
  expect(response.headers.get("Content-Type")).toBe("text/event-stream");
  const frames = (await response.text())
    .split("\n\n")
    .filter((frame) => frame.startsWith("data: "));
  return frames.map((frame) => JSON.parse(frame.slice("data: ".length)) as { result: Event });
}

describe("a message", () => {
  test("starts a run: the task id is the run, the context id is the thread", async () => {
    const task = await send_("echo", [text("hi")]);
    expect(task).toMatchObject({
      kind: "task",
      status: { state: "completed" },
      artifacts: [{ parts: [text("echo: hi")] }],
    });
    const run = await api(`${agent}/threads/${task.contextId}/runs/${task.id}`, {
      key: ours.viewer,
    });
    expect(await run.json()).toMatchObject({ run_id: task.id, status: "success" });
  });

  test("continues a context, and each task keeps its result", async () => {
    const first = await send_("echo", [text("one")]);
    const second = await send_("echo", [text("two")], { contextId: first.contextId });
    expect(second.contextId).toBe(first.contextId);
    expect(second.id).not.toBe(first.id);
    expect((await get(first.id))?.artifacts).toMatchObject([{ parts: [text("echo: one")] }]);
    const whole = await get(second.id, { historyLength: 3 });
    expect(whole?.artifacts).toMatchObject([{ parts: [text("echo: two")] }]);
    expect(whole?.history?.map(({ role, parts }) => [role, parts[0]?.text])).toEqual([
      ["agent", "echo: one"],
      ["user", "two"],
      ["agent", "echo: two"],
    ]);
  });

  test("of data is the graph's input, and values without messages are data", async () => {
    const task = await send_("steps", [data({ delay_ms: 0 })]);
    expect(task.artifacts).toMatchObject([
      { parts: [data({ delay_ms: 0, log: ["a", "b", "c"] })] },
    ]);
  });

  test("without blocking returns a task that completes later", async () => {
    const slow = await send_("steps", [data({ delay_ms: 600_000 })], {}, { blocking: false });
    expect(["submitted", "working"]).toContain(slow.status.state);
    await call("steps", "tasks/cancel", { id: slow.id });
    const task = await send_("steps", [data({ delay_ms: 30 })], {}, { blocking: false });
    await eventually(async () => expect((await get(task.id))?.status.state).toBe("completed"));
  });

  test("to an agent that fails returns a failed task with the error", async () => {
    const task = await send_("fails", [data({})]);
    expect(task).toMatchObject({
      status: { state: "failed", message: { parts: [text("RangeError: the node broke")] } },
      artifacts: [],
    });
    expect((await get(task.id))?.status.state).toBe("failed");
  });

  test.each([
    ["text to a graph without messages", "steps", message([text("hi")]), -32602, "delay_ms"],
    ["a file", "echo", message([{ kind: "file", file: {} } as Part]), -32005, "Files"],
    ["no parts", "echo", message([]), -32602, "params.message.parts"],
    [
      "a context that is no thread's id",
      "echo",
      message([text("hi")], { contextId: "x" }),
      -32602,
      "params.message.contextId",
    ],
    [
      "a push notification",
      "echo",
      message([text("hi")], {}, { pushNotificationConfig: { url: "https://a.test" } }),
      -32003,
      "not supported",
    ],
    ["nothing", "echo", {}, -32602, "params.message"],
  ])("of %s is refused", async (_, assistant, params, code, message_) => {
    const { error } = await call(assistant, "message/send", params);
    expect(error).toMatchObject({ code, message: expect.stringContaining(message_) });
  });

  test("to an unknown assistant is a 404", async () => {
    expect((await send("nobody", "message/send", message([text("hi")]))).status).toBe(404);
  });

  test("is not for viewers, and neither is a cancel", async () => {
    const { id } = await send_("echo", [text("hi")]);
    const refused = await send("echo", "message/send", message([text("hi")]), ours.viewer);
    expect(refused.status).toBe(403);
    expect((await send("echo", "tasks/cancel", { id }, ours.viewer)).status).toBe(403);
    expect((await send("echo", "tasks/get", { id }, ours.viewer)).status).toBe(200);
  });
});

test("a graph that stops before a node requires input, and continues with the next message", async () => {
  const stopped = await send_("stops_before", [data({ topic: "one" })]);
  expect(stopped.status.state).toBe("input-required");
  const ended = await send_("stops_before", [text("go on")], { taskId: stopped.id });
  expect(ended).toMatchObject({ id: stopped.id, status: { state: "completed" } });
  expect(ended.artifacts[0]?.parts[0]?.data).toMatchObject({ topic: "one", log: ["done"] });
});

describe("a question", () => {
  test("is a task that requires input, and the response continues the same task", async () => {
    const refused = await send_("ask", [data({})]);
    expect(refused.status).toMatchObject({
      state: "input-required",
      message: { role: "agent", parts: [data({ question: "go on?" })] },
    });
    const answered = await send_("ask", [text("yes")], { taskId: refused.id });
    expect(answered).toMatchObject({ id: refused.id, status: { state: "completed" } });
    expect(answered.artifacts[0]?.parts[0]?.data).toMatchObject({ log: ["answer: yes", "done"] });
    expect(await get(refused.id)).toEqual({ ...answered, status: expect.anything() });
    const again = await call("ask", "message/send", message([text("yes")], { taskId: refused.id }));
    expect(again.error).toMatchObject({
      code: -32004,
      message: expect.stringContaining("completed"),
    });
  });

  test("is canceled without a result when another task continues its context", async () => {
    const left = await send_("ask", [data({})]);
    const next = await send_("ask", [data({})], { contextId: left.contextId });
    expect(next.status.state).toBe("input-required");
    expect(await get(left.id)).toMatchObject({ status: { state: "canceled" }, artifacts: [] });
  });

  test("cannot be answered from another context", async () => {
    const refused = await send_("ask", [data({})]);
    const contextId = crypto.randomUUID();
    const params = message([text("yes")], { taskId: refused.id, contextId });
    expect((await call("ask", "message/send", params)).error?.code).toBe(-32602);
    expect((await get(refused.id))?.status.state).toBe("input-required");
  });
});

describe("a second question", () => {
  const taskOf = async (id: string) => {
    const row = await findTask(systemContext(ours.workspace_id), deployment_id, id);
    if (!row) throw new Error("The task was not saved.");
    return row;
  };

  test("is answered after an answer whose run was never created", async () => {
    const { id } = await send_("interrupts_in_turn", [data({ delay_ms: 0 })]);
    await send_("interrupts_in_turn", [text("one")], { taskId: id });
    const row = await taskOf(id);
    const lost = { ...row, run_id: crypto.randomUUID(), former_run_id: row.run_id };
    expect(await replaceRun(systemContext(ours.workspace_id), row, lost)).toBe(true);
    expect((await get(id))?.status).toMatchObject({
      state: "input-required",
      message: { parts: [text("second?")] },
    });
    const again = await stream("interrupts_in_turn", { id }, "tasks/resubscribe");
    expect(again.at(-1)?.result).toMatchObject({
      final: true,
      status: { state: "input-required" },
    });
    const ended = await send_("interrupts_in_turn", [text("two")], { taskId: id });
    expect(ended.artifacts[0]?.parts[0]?.data).toMatchObject({
      log: ["first? one", "rested", "second? two"],
    });
  });

  test("is not answered by the second of two answers to the first", async () => {
    const { id } = await send_("interrupts_in_turn", [data({ delay_ms: 0 })]);
    const before = await taskOf(id);
    const answers = await Promise.all(
      ["one", "two"].map((word) =>
        call("interrupts_in_turn", "message/send", message([text(word)], { taskId: id })),
      ),
    );
    const [refused] = answers.filter(({ error }) => error);
    const [answered] = answers.filter(({ result }) => result);
    expect(refused?.error?.code).toBe(-32004);
    expect(answered?.result?.status).toMatchObject({
      state: "input-required",
      message: { parts: [text("second?")] },
    });
    expect(await get(id)).toMatchObject({ status: { state: "input-required" } });
    // A request that has read the task before the answer comes too late.
    const late = { ...before, run_id: crypto.randomUUID() };
    expect(await replaceRun(systemContext(ours.workspace_id), before, late)).toBe(false);
  });
});

describe("a stream", () => {
  test("emits the task, chunks of the artifact, and the end", async () => {
    const events = (await stream("tokens", message([text("hi")]))).map(({ result }) => result);
    expect(events.map(({ kind }) => kind)).toEqual([
      "task",
      "status-update",
      ...events.slice(2, -1).map(() => "artifact-update"),
      "status-update",
    ]);
    const pieces = events.filter(({ artifact }) => artifact);
    const text_ = pieces.reduce((all, { append, artifact }) => {
      const piece = artifact?.parts[0]?.text ?? "";
      return append ? all + piece : piece;
    }, "");
    expect(text_).toBe("one two three");
    expect(pieces.length).toBeGreaterThan(3);
    expect(events.at(-1)).toMatchObject({ final: true, status: { state: "completed" } });
  });

  test("can be resumed, and emits the same end", async () => {
    const [first] = await stream("tokens", message([text("hi")]));
    const task = first?.result as unknown as Task;
    const again = await stream("tokens", { id: task.id }, "tasks/resubscribe");
    expect(again[0]?.result).toMatchObject({ kind: "task", id: task.id });
    expect(again.at(-1)?.result).toMatchObject({ final: true, status: { state: "completed" } });
  });

  test("is the same in whichever pieces its events arrive", async () => {
    const event = (name: string, sent: unknown) =>
      `event: ${name}\ndata: ${JSON.stringify(sent)}\n\n`;
    const token = [{ id: "1", type: "ai", content: "a long text" }, {}];
    const sent = `${event("metadata", {})}: heartbeat\n\n${event("messages", token)}`;
    const read = async (size: number) => {
      const pieces = Array.from({ length: Math.ceil(sent.length / size) }, (_, n) =>
        sent.slice(n * size, (n + 1) * size),
      );
      const events = new ReadableStream({
        start(controller) {
          for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
          controller.close();
        },
      });
      return new Response(toTaskEvents(3, TASK, events, async () => TASK, V0_3)).text();
    };
    const whole = await read(sent.length);
    expect(whole).toContain("a long text");
    for (const size of [1, 2, 3, 7, 40]) expect(await read(size)).toBe(whole);
  });

  test("that is refused is an error event", async () => {
    const events = await stream("steps", message([text("hi")]));
    expect(events).toMatchObject([{ jsonrpc: "2.0", id: 3, error: { code: -32602 } }]);
  });
});

describe("a task", () => {
  test("is cancelled while it runs, and not when it is over", async () => {
    const { id } = await send_("steps", [data({ delay_ms: 60_000 })], {}, { blocking: false });
    const cancelled = await call("steps", "tasks/cancel", { id });
    expect(cancelled.result).toMatchObject({ id, status: { state: "canceled" } });
    const again = await call("steps", "tasks/cancel", { id });
    expect(again.error?.code).toBe(-32002);
  });

  test("that is not there, or is another workspace's, is not found", async () => {
    const { id } = await send_("echo", [text("hi")]);
    const theirs = await workspace();
    const other = `/agents/${(await testDeployment(theirs.workspace_id)).deployment_id}`;
    const json = { jsonrpc: "2.0", id: 3, method: "tasks/get", params: { id } };
    const refused = await api(`${other}/a2a/echo`, { key: theirs.admin, json });
    expect(await refused.json()).toMatchObject({ error: { code: -32001 } });
    const missing = await call("echo", "tasks/get", { id: crypto.randomUUID() });
    expect(missing.error?.code).toBe(-32001);
  });

  test("of a deleted thread is not found", async () => {
    const { id, contextId } = await send_("echo", [text("hi")]);
    await api(`${agent}/threads/${contextId}`, { key: ours.editor, method: "DELETE" });
    expect((await call("echo", "tasks/get", { id })).error?.code).toBe(-32001);
  });

  test("is forgotten with its deployment, and after its time", async () => {
    const count = async () =>
      env.DB.prepare("SELECT count(*) AS n FROM a2a_tasks WHERE deployment_id = ?")
        .bind(deployment_id)
        .first("n");
    await send_("echo", [text("hi")]);
    await sweepTasks(env, new Date());
    expect(await count()).toBeGreaterThan(0);
    await sweepTasks(env, new Date(Date.now() + 100 * 24 * 60 * 60 * 1000));
    expect(await count()).toBe(0);
    await send_("echo", [text("hi")]);
    expect(await deleteTasksOf(env, deployment_id)).toBe(true);
    expect(await count()).toBe(0);
  });
});

test("other methods are refused in the protocol's words", async () => {
  expect((await call("echo", "tasks/pushNotificationConfig/set", {})).error?.code).toBe(-32003);
  expect((await call("echo", "tasks/list", {})).error?.code).toBe(-32601);
});

describe("a card", () => {
  const card = (path: string) => api(`${agent}${path}`, { key: ours.viewer });

  test("has the URL of its assistant, from either URL", async () => {
    const made = await api(`${agent}/assistants`, {
      key: ours.editor,
      json: { graph_id: "echo", name: "Parrot", description: "Says it again" },
    });
    const { assistant_id } = await made.json<{ assistant_id: string }>();
    const url = `https://heddle.test${agent}/a2a/${assistant_id}`;
    for (const path of [
      `/.well-known/agent-card.json?assistant_id=${assistant_id}`,
      `/a2a/${assistant_id}/.well-known/agent-card.json`,
    ]) {
      expect(await (await card(path)).json()).toMatchObject({
        protocolVersion: "0.3.0",
        name: "Parrot",
        description: "Says it again",
        url,
        capabilities: { streaming: true, pushNotifications: false },
        skills: [{ id: assistant_id, name: "Parrot" }],
      });
    }
    const json = { description: "" };
    await api(`${agent}/assistants/${assistant_id}`, { key: ours.editor, method: "PATCH", json });
    expect(
      await (await card(`/a2a/${assistant_id}/.well-known/agent-card.json`)).json(),
    ).toMatchObject({ description: "The agent Parrot." });
  });

  test("without an assistant is refused when the deployment has several", async () => {
    const refused = await card("/.well-known/agent-card.json");
    expect([refused.status, await refused.text()]).toEqual([
      422,
      expect.stringContaining("assistant_id"),
    ]);
    expect((await card("/.well-known/agent-card.json?assistant_id=nobody")).status).toBe(404);
  });
});

describe("a refused message stores no task", () => {
  const rowsOf = async (id: string) => {
    const rows = env.DB.prepare("SELECT task_id FROM a2a_tasks WHERE deployment_id = ?").bind(id);
    return (await rows.all()).results;
  };

  test.each(["message/send", "message/stream"])("%s by a user without access", async (method) => {
    const { as, deployment_id: id } = await agentWithUsers();
    const { json: thread } = await as("anna")("/threads", { json: {} });
    const { thread_id: contextId } = thread as { thread_id: string };
    const call = (user: string, more: object = {}) =>
      as(user)("/a2a/echo", {
        json: { jsonrpc: "2.0", id: 3, method, params: message([data({ messages: [] })], more) },
      });
    expect((await call("nobody")).text).not.toContain('"result"');
    expect((await call("eve", { contextId })).text).not.toContain('"result"');
    expect(await rowsOf(id)).toEqual([]);
    expect((await call("anna", { contextId })).text).toContain('"result"');
    expect(await rowsOf(id)).toHaveLength(1);
  });
});

describe("a task that cannot be read after its run", () => {
  const failed = async () => {
    throw new AppError("not_found", "Task 1 not found");
  };
  const error = { jsonrpc: "2.0", id: 1, error: { code: -32000, message: "Task 1 not found" } };

  test("is the error of a blocking call", async () => {
    const result = new Blob(["{}"]).stream();
    const text = await new Response(toWaitedAnswer(1, result, failed)).text();
    expect(JSON.parse(text)).toEqual(error);
  });

  test("is the last event of a stream", async () => {
    const events = toTaskEvents(1, TASK, new Blob([""]).stream(), failed, V0_3);
    const frames = (await new Response(events).text()).trim().split("\n\n");
    expect(JSON.parse(frames.at(-1)?.slice("data: ".length) ?? "")).toEqual(error);
  });
});
