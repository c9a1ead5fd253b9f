import { exports } from "cloudflare:workers";
import { Role, TaskState } from "@a2a-js/sdk";
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  createAuthenticatingFetchWithRetry,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from "@a2a-js/sdk/client";
import { beforeAll, describe, expect, test } from "vitest";
import { testDeployment } from "../../support/agent-deployment.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type SendParams = Parameters<Client["sendMessage"]>[0];
type Part = NonNullable<SendParams["message"]>["parts"][number];
type Task = Awaited<ReturnType<Client["getTask"]>>;
type Answer = { result?: unknown; error?: { code: number; message: string; data?: unknown } };

let ours: TestWorkspace;
let agent: string;
beforeAll(async () => {
  ours = await workspace();
  const { deployment_id } = await testDeployment(ours.workspace_id);
  agent = `/agents/${deployment_id}`;
});

async function connect(assistant: string): Promise<Client> {
  const headers = async () => ({ "x-api-key": ours.editor });
  const toWorker = ((url: URL | string, init?: RequestInit) =>
    exports.default.fetch(new Request(url, init))) as typeof fetch;
  const fetchImpl = createAuthenticatingFetchWithRetry(toWorker, {
    headers,
    shouldRetryWithHeaders: async () => undefined,
  });
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  });
  const url = `https://heddle.test${agent}/a2a/${assistant}/`;
  return new ClientFactory(options).createFromUrl(url);
}

const rest = { metadata: undefined, filename: "", mediaType: "" };
const text = (value: string): Part => ({ content: { $case: "text", value }, ...rest });
const data = (value: unknown): Part => ({ content: { $case: "data", value }, ...rest });

function message(parts: Part[], more: object = {}, configuration?: object): SendParams {
  const own = { messageId: crypto.randomUUID(), role: Role.ROLE_USER, parts };
  const empty = {
    ...{ contextId: "", taskId: "", extensions: [], referenceTaskIds: [], metadata: undefined },
  };
  return {
    tenant: "",
    message: { ...empty, ...own, ...more },
    configuration: configuration && {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      historyLength: undefined,
      returnImmediately: false,
      ...configuration,
    },
    metadata: undefined,
  };
}

async function send(client: Client, ...args: Parameters<typeof message>): Promise<Task> {
  return (await client.sendMessage(message(...args))) as Task;
}

const byId = (id: string) => ({ id, tenant: "", historyLength: undefined });

async function call(
  assistant: string,
  method: string,
  params: unknown,
  headers: Record<string, string> = { "A2A-Version": "1.0" },
): Promise<Answer> {
  const json = { jsonrpc: "2.0", id: 1, method, params };
  const response = await api(`${agent}/a2a/${assistant}`, { key: ours.editor, headers, json });
  return response.json<Answer>();
}

describe("the client of A2A 1.x", () => {
  test("reads the card, sends a message and gets the task again", async () => {
    const client = await connect("echo");
    expect(client.protocolVersion).toBe("1.0");
    const task = await send(client, [text("hi")]);
    expect(task).toMatchObject({
      status: { state: TaskState.TASK_STATE_COMPLETED },
      artifacts: [{ artifactId: "answer", parts: [{ content: text("echo: hi").content }] }],
    });
    expect(await client.getTask(byId(task.id))).toMatchObject({ id: task.id });
    const next = await send(client, [text("and on")], { contextId: task.contextId });
    expect(next.contextId).toBe(task.contextId);
    const whole = await client.getTask({ ...byId(next.id), historyLength: 2 });
    expect(whole.history.map(({ role }) => role)).toEqual([Role.ROLE_USER, Role.ROLE_AGENT]);
  });

  test("sends data, and gets data", async () => {
    const task = await send(await connect("steps"), [data({ delay_ms: 0 })]);
    expect(task.artifacts[0]?.parts).toMatchObject([
      { content: { $case: "data", value: { delay_ms: 0, log: ["a", "b", "c"] } } },
    ]);
  });

  test("answers a question of the agent", async () => {
    const client = await connect("ask");
    const waiting = await send(client, [data({})]);
    expect(waiting.status).toMatchObject({
      state: TaskState.TASK_STATE_INPUT_REQUIRED,
      message: {
        role: Role.ROLE_AGENT,
        parts: [{ content: { value: { question: "go on?" } } }],
      },
    });
    const answered = await send(client, [text("yes")], { taskId: waiting.id });
    expect(answered).toMatchObject({
      id: waiting.id,
      status: { state: TaskState.TASK_STATE_COMPLETED },
    });
  });

  test("streams the task, its artifact and its end", async () => {
    const client = await connect("tokens");
    const events = [];
    for await (const event of client.sendMessageStream(message([text("hi")]))) {
      events.push(event.payload);
    }
    expect([...new Set(events.map((event) => event?.$case))]).toEqual([
      "task",
      "statusUpdate",
      "artifactUpdate",
    ]);
    const written = events.reduce((before, event) => {
      if (event?.$case !== "artifactUpdate") return before;
      const content = event.value.artifact?.parts[0]?.content;
      const piece = content?.$case === "text" ? content.value : "";
      return event.value.append ? before + piece : piece;
    }, "");
    expect(written).toBe("one two three");
    expect(events.at(-1)).toMatchObject({
      value: { status: { state: TaskState.TASK_STATE_COMPLETED } },
    });
  });

  test("streams what a model in a subgraph writes", async () => {
    const client = await connect("team");
    let written = "";
    for await (const { payload } of client.sendMessageStream(message([text("hi")]))) {
      const content =
        payload?.$case === "artifactUpdate" && payload.value.artifact?.parts[0]?.content;
      if (content && content.$case === "text") written += content.value;
    }
    expect(written).toContain("from within");
  });

  test("returns at once, and cancels", async () => {
    const client = await connect("steps");
    const parts = [data({ delay_ms: 60_000 })];
    const task = await send(client, parts, {}, { returnImmediately: true });
    expect([TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING]).toContain(
      task.status?.state,
    );
    const cancelled = await client.cancelTask({ id: task.id, tenant: "", metadata: undefined });
    expect(cancelled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    const again = client.cancelTask({ id: task.id, tenant: "", metadata: undefined });
    await expect(again).rejects.toMatchObject({ reason: "TASK_NOT_CANCELABLE" });
  });

  test("gets the errors that A2A defines", async () => {
    const client = await connect("echo");
    await expect(client.getTask(byId(crypto.randomUUID()))).rejects.toMatchObject({
      reason: "TASK_NOT_FOUND",
    });
    const { id } = await send(client, [text("hi")]);
    const stream = client.resubscribeTask({ id, tenant: "" });
    await expect(stream.next()).rejects.toThrow("has ended");
  });
});

describe("a request of 1.0", () => {
  test("is refused with the reason of the error", async () => {
    const raw = { messageId: "m", role: "ROLE_USER", parts: [{ raw: "AAAA" }] };
    expect((await call("echo", "SendMessage", { message: raw })).error).toEqual({
      code: -32005,
      message: "Files are not supported",
      data: [
        {
          "@type": "type.googleapis.com/google.rpc.ErrorInfo",
          reason: "CONTENT_TYPE_NOT_SUPPORTED",
          domain: "a2a-protocol.org",
        },
      ],
    });
    const config = await call("echo", "CreateTaskPushNotificationConfig", {});
    expect(config.error?.code).toBe(-32003);
    expect((await call("echo", "ListTasks", {})).error?.code).toBe(-32601);
    expect((await call("echo", "SendMessage", {})).error?.code).toBe(-32602);
  });

  test.each(["2.0", "0.2", "1", "x"])("of version %s is refused", async (version) => {
    const id = crypto.randomUUID();
    const { error } = await call("echo", "GetTask", { id }, { "A2A-Version": version });
    expect(error).toMatchObject({ code: -32009, message: expect.stringContaining("0.3 and 1.0") });
  });

  test("gets results without the fields of 0.3", async () => {
    const part = { data: [1, 2] };
    const params = { message: { messageId: "m", role: "ROLE_USER", parts: [part] } };
    const { result } = await call("plain", "SendMessage", params, {});
    expect(result).toMatchObject({ task: { status: { state: "TASK_STATE_COMPLETED" } } });
    expect(JSON.stringify(result)).not.toMatch(/"kind"|"final"/);
  });
});

describe("the card", () => {
  const card = async (headers: Record<string, string>) => {
    const path = `${agent}/a2a/echo/.well-known/agent-card.json`;
    const response = await api(path, { key: ours.viewer, headers });
    expect(response.headers.get("Vary")).toContain("A2A-Version");
    return response.json<Record<string, unknown>>();
  };

  test("of 1.0 is for clients that send the version", async () => {
    const sent = await card({ "A2A-Version": "1.0" });
    expect(sent).toMatchObject({
      supportedInterfaces: [
        { protocolBinding: "JSONRPC", protocolVersion: "1.0" },
        { protocolBinding: "JSONRPC", protocolVersion: "0.3" },
      ],
      securitySchemes: {
        api_key: { apiKeySecurityScheme: { location: "header", name: "X-Api-Key" } },
      },
      securityRequirements: [{ schemes: { api_key: { list: [] } } }, expect.anything()],
    });
    expect(Object.keys(sent)).not.toContain("protocolVersion");
  });

  test("of 0.3 names the interface of 1.0", async () => {
    expect(await card({})).toMatchObject({
      protocolVersion: "0.3.0",
      preferredTransport: "JSONRPC",
      supportedInterfaces: [{ protocolVersion: "1.0" }, { protocolVersion: "0.3" }],
      securitySchemes: { api_key: { type: "apiKey" } },
    });
  });
});
