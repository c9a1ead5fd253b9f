import { context, trace } from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { Client } from "langsmith";
import { getCurrentRunTree, traceable } from "langsmith/traceable";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { request } from "./support/http.ts";
import { killWorker, stack, until } from "./support/stack.ts";
import { collect, tracing } from "./support/tracing.ts";

type FoundRun = { id: string; name: string };
type RunsPage = { runs: FoundRun[]; cursors: { next: string | null } };

const MODEL_OUTPUT = {
  role: "assistant",
  content: "42",
  usage_metadata: { input_tokens: 11, output_tokens: 3, total_tokens: 14 },
};

function unique(name: string): string {
  return `${name}-${crypto.randomUUID().slice(0, 8)}`;
}

/** An agent three deep: it calls a step, the step a model; a file goes with the root. */
async function traceAgent(client: Client, project_name: string) {
  const ids: Record<string, string> = {};
  const note = (name: string) => {
    ids[name] = getCurrentRunTree().id;
  };
  const options = { client, project_name, tracingEnabled: true };
  const model = traceable(
    async (_messages: unknown) => {
      note("model");
      return MODEL_OUTPUT;
    },
    { ...options, name: "model", run_type: "llm", metadata: { thread_id: "t-1" } },
  );
  const step = traceable(
    async (question: string) => {
      note("step");
      return (await model([{ role: "user", content: question }])).content;
    },
    { ...options, name: "step", tags: ["inner"] },
  );
  const agent = traceable(
    async ({ question }: { question: string; picture: Uint8Array }) => {
      note("agent");
      return { answer: await step(question) };
    },
    {
      ...options,
      name: "agent",
      metadata: { user_id: "u1" },
      extractAttachments: ({ question, picture }) => [
        { picture: ["image/png", picture] },
        { question },
      ],
    },
  );
  await agent({ question: "what is it?", picture: new Uint8Array([1, 2, 3]) });
  await client.awaitPendingTraceBatches();
  return ids;
}

describe.each([
  ["gzip", "false"],
  ["no packing", "true"],
])("the official SDK, with %s", (_, disabled) => {
  const project = unique("sdk");
  let client: Client;
  let ids: Record<string, string>;
  const warn = vi.spyOn(console, "warn");

  beforeAll(async () => {
    warn.mockClear();
    process.env.LANGSMITH_DISABLE_RUN_COMPRESSION = disabled;
    client = tracing();
    ids = await traceAgent(client, project);
  });
  afterAll(() => {
    delete process.env.LANGSMITH_DISABLE_RUN_COMPRESSION;
  });

  test("warns of no old server", async () => {
    const { id } = await client.readProject({ projectName: project });
    await collect(client.runs.query({ project_ids: [id], selects: ["ID"] }));
    expect(warn.mock.calls).toEqual([]);
  });

  test("records a tree that reads as it ran", async () => {
    const { agent = "", step = "", model = "" } = ids;
    const root = await client.readRun(agent, { loadChildRuns: true });
    expect(root).toMatchObject({
      name: "agent",
      status: "success",
      inputs: { question: "what is it?" },
      outputs: { answer: "42" },
      extra: { metadata: { user_id: "u1" } },
      trace_id: agent,
      files: { picture: { content_type: "image/png", bytes: 3 } },
    });
    expect(root.child_runs).toEqual([
      expect.objectContaining({
        id: step,
        tags: ["inner"],
        child_runs: [expect.objectContaining({ id: model, total_tokens: 14, run_type: "llm" })],
      }),
    ]);
    const file = await fetch(`${stack.base_url}/runs/${agent}/attachments/picture`, {
      headers: { "x-api-key": stack.api_key, "x-tenant-id": stack.tenant_id },
    });
    expect([...(await file.bytes())]).toEqual([1, 2, 3]);
  });

  test("finds runs by filter, kind and project", async () => {
    const names = async (query: Parameters<Client["listRuns"]>[0]) =>
      (await collect(client.listRuns({ projectName: project, ...query }))).map(({ name }) => name);
    expect(await names({ order: "asc" })).toEqual(["agent", "step", "model"]);
    expect(await names({ isRoot: true })).toEqual(["agent"]);
    expect(await names({ runType: "llm" })).toEqual(["model"]);
    expect(await names({ filter: 'has(tags, "inner")' })).toEqual(["step"]);
    expect(await names({ filter: "gt(total_tokens, 10)" })).toEqual(["model", "step", "agent"]);
    expect(await names({ limit: 1 })).toEqual(["model"]);
    const metadata = 'and(eq(metadata_key, "user_id"), eq(metadata_value, "u1"))';
    expect(await names({ filter: metadata, traceFilter: 'eq(name, "agent")' })).toContain("agent");
  });

  test("finds and reads runs by its newer calls", async () => {
    const { id } = await client.readProject({ projectName: project });
    const query = client.runs.query({ project_ids: [id], selects: ["ID", "NAME"] });
    const found = (await collect(query)).map((run) => run.name);
    expect(found.sort()).toEqual(["agent", "model", "step"]);
    const run = await client.runs.retrieve(ids.model ?? "", {
      project_id: id,
      start_time: new Date().toISOString(),
      selects: ["NAME", "TOTAL_TOKENS"],
    });
    expect(run).toMatchObject({ name: "model", total_tokens: 14 });
  });

  test("shares a trace by a link, and revokes it", async () => {
    const { agent = "", model = "" } = ids;
    const link = await client.shareRun(agent);
    const token = link.split("/").at(-2) ?? "";
    expect(await client.readRunSharedLink(model)).toBe(link);
    const stranger = new Client({ apiUrl: stack.base_url, apiKey: "none" });
    const names = (runs: { name?: string }[] = []) => runs.map(({ name }) => name);
    expect(names(await stranger.listSharedRuns(token))).toEqual(["agent", "step", "model"]);
    expect(names(await stranger.listSharedRuns(token, { runIds: [model] }))).toEqual(["model"]);
    const { items } = await stranger.public.runs.query(token, { selects: ["NAME"] });
    expect(names(items)).toEqual(["agent", "step", "model"]);
    const page = await fetch(`${stack.base_url}/public/${token}/r`);
    expect(await page.text()).toContain("3 runs. These are all.");
    await client.unshareRun(agent);
    expect(await client.readRunSharedLink(agent)).toBeUndefined();
    await expect(stranger.listSharedRuns(token)).rejects.toThrow("404");
    const { session_id = "" } = await client.readRun(agent);
    const share = await client.runs.share.create(agent, { session_id, trace_id: agent });
    expect(share.share_token).not.toBe(token);
    await client.runs.share.delete(agent, { session_id });
  });

  test("finds threads, and the traces of one", async () => {
    const { id } = await client.readProject({ projectName: project });
    const listed = await client.listThreads({ projectId: id, isRoot: false });
    expect(listed.map(({ thread_id }) => thread_id)).toEqual(["t-1"]);
    const read = client.readThread({ threadId: "t-1", projectId: id, isRoot: false });
    expect((await collect(read)).map(({ name }) => name)).toEqual(["model"]);
    const thread_id = `t-${crypto.randomUUID()}`;
    const options = { client, project_name: `${project}-turns`, tracingEnabled: true };
    const turn = traceable(async () => "done", {
      ...options,
      name: "turn",
      metadata: { thread_id },
    });
    await turn();
    await client.awaitPendingTraceBatches();
    const project_id = (await client.readProject({ projectName: `${project}-turns` })).id;
    const found = await collect(client.threads.query({ project_id, page_size: 1 }));
    expect(found).toMatchObject([{ thread_id, count: 1 }]);
    expect(await collect(client.threads.streaming.queryItems({ project_id }))).toEqual(found);
    const traces = client.threads.listTraces(thread_id, { project_id, selects: ["NAME"] });
    expect(await collect(traces)).toMatchObject([{ name: "turn" }]);
    const stats = client.threads.stats(thread_id, {
      session_id: project_id,
      selects: ["TURNS"],
    });
    expect(await stats).toEqual({ turns: 1 });
    const [trace] = await collect(client.traces.query({ project_id, selects: ["NAME"] }));
    expect(trace).toMatchObject({ root_run: { name: "turn" } });
    expect(await collect(client.traces.streaming.queryItems({ project_id }))).toEqual([
      { root_run: { id: trace?.root_run?.id } },
    ]);
    const runs = client.traces.listRuns(String(trace?.root_run?.id), { project_id });
    expect(await runs).toEqual({ items: [trace?.root_run].map((run) => ({ id: run?.id })) });
  });

  test("creates presigned feedback URLs, and lists them", async () => {
    const { step = "" } = ids;
    const token = await client.createPresignedFeedbackToken(step, "stars");
    expect(await collect(client.listPresignedFeedbackTokens(step))).toEqual([token]);
    expect((await fetch(`${token.url}?score=1`)).status).toBe(200);
    const [given] = await collect(client.listFeedback({ runIds: [step] }));
    expect(given).toMatchObject({ key: "stars", score: 1 });
    await client.deleteFeedback(given?.id ?? "");
  });

  test("gives feedback, and reads it back", async () => {
    const { agent = "" } = ids;
    const { session_id } = await client.readRun(agent);
    await client.createFeedback(agent, "correct", { score: 0.123456, comment: "nearly" });
    const [feedback, ...others] = await collect(client.listFeedback({ runIds: [agent] }));
    expect([feedback, others]).toEqual([
      expect.objectContaining({ key: "correct", score: 0.1235, comment: "nearly", session_id }),
      [],
    ]);
    expect(await client.readRun(agent)).toMatchObject({
      feedback_stats: { correct: { n: 1, avg: 0.1235 } },
    });
  });

  test("changes feedback, and takes it back", async () => {
    const { step = "" } = ids;
    const { id } = await client.createFeedback(step, "tone", { score: 0 });
    await client.updateFeedback(id, { score: 1, comment: "better" });
    expect(await client.readFeedback(id)).toMatchObject({ score: 1, comment: "better" });
    await client.deleteFeedback(id);
    expect(await collect(client.listFeedback({ runIds: [step] }))).toEqual([]);
  });

  test("counts runs and the stats of the project", async () => {
    const stats = await client.getRunStats({ projectNames: [project] });
    expect(stats).toMatchObject({ run_count: 3, total_tokens: 14, error_rate: 0 });
    const model = await client.getRunStats({ projectNames: [project], runType: "llm" });
    expect(model).toMatchObject({ run_count: 1, latency_p50: expect.any(Number) });
    const found = await client.readProject({ projectName: project, includeStats: true });
    expect(found).toMatchObject({ run_count: 1, total_tokens: 14 });
  });

  test("groups traces by thread", async () => {
    const projectName = unique("talk");
    const options = { client, project_name: projectName, tracingEnabled: true };
    const turn = traceable(async (text: string) => text.toUpperCase(), {
      ...options,
      name: "turn",
      metadata: { thread_id: "t-9" },
    });
    for (const text of ["one", "two"]) await turn(text);
    await client.awaitPendingTraceBatches();
    const groups = await collect(client.listGroupRuns({ projectName, groupBy: "conversation" }));
    expect(groups).toEqual([
      expect.objectContaining({
        thread_id: "t-9",
        count: 2,
        last_outputs: expect.stringMatching(/^{"outputs":"(ONE|TWO)"}$/),
      }),
    ]);
  });
});

test("the SDK's projects: created, upserted, read, listed, deleted", async () => {
  const client = tracing();
  const projectName = unique("made");
  const project = await client.createProject({ projectName, description: "one" });
  await expect(client.createProject({ projectName })).rejects.toThrow("exists already");
  const again = await client.createProject({ projectName, upsert: true, metadata: { a: 1 } });
  expect(again).toMatchObject({
    id: project.id,
    description: "one",
    extra: { metadata: { a: 1 } },
  });
  const changed = await client.updateProject(project.id, { description: "two" });
  expect(changed).toMatchObject({ name: projectName, description: "two" });
  expect((await client.readProject({ projectName })).id).toBe(project.id);
  expect(await client.hasProject({ projectName })).toBe(true);
  const names = (await collect(client.listProjects())).map(({ name }) => name);
  expect(names).toContain(projectName);
  await client.deleteProject({ projectName });
  expect(await client.hasProject({ projectName })).toBe(false);
});

function wireRun(session_name: string) {
  const id = uuidv7();
  const now = new Date();
  const stamp = now.toISOString().replaceAll(/[-:.]/g, "").slice(0, -1);
  return {
    id,
    session_name,
    trace_id: id,
    dotted_order: `${stamp}000Z${id}`,
    name: "kept",
    run_type: "chain",
    start_time: now.toISOString(),
    end_time: now.getTime() + 5,
    inputs: { text: "x".repeat(500) },
  };
}

function uuidv7(): string {
  const time = Date.now().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
}

test("runs accepted before a SIGKILL exist once", async () => {
  const project = unique("killed");
  const accepted: string[] = [];
  const send = async () => {
    const post = Array.from({ length: 20 }, () => wireRun(project));
    const answer = await request("POST", "/runs/batch", { post }).catch(() => ({ status: 0 }));
    if (answer.status === 202) accepted.push(...post.map(({ id }) => id));
    return answer.status;
  };
  await until("A first batch", send, (status) => status === 202);
  const stop = Date.now() + 1500;
  const senders = Array.from({ length: 3 }, async () => {
    while (Date.now() < stop) await send();
  });
  await until(
    "Some batches",
    async () => accepted.length,
    (count) => count > 200,
  );
  await killWorker();
  await Promise.all(senders);
  await until("A batch after the crash", send, (status) => status === 202);

  const found = await collect<FoundRun>(
    tracing().listRuns({ projectName: project, select: ["id", "name"] }),
  );
  const ids = found.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(ids)).toEqual(new Set([...ids, ...accepted]));
});

describe.each([
  ["protobuf", ProtobufExporter],
  ["JSON", JsonExporter],
])("the official exporter of OpenTelemetry, with %s", (name, Exporter) => {
  test("sends spans of a trace as runs of one tree", async () => {
    const project = unique(`otlp-${name}`);
    const exporter = new Exporter({
      url: `${stack.base_url}/otel/v1/traces`,
      headers: { "x-api-key": stack.api_key, "Langsmith-Project": project },
      compression: "gzip" as never,
    });
    const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] });
    const tracer = provider.getTracer("test");
    const root = tracer.startSpan("agent");
    const attributes = { "gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 11 };
    const model = tracer.startSpan("model", { attributes }, trace.setSpan(context.active(), root));
    model.end();
    await provider.forceFlush();
    root.end();
    await provider.shutdown();
    const client = new Client({ apiUrl: stack.base_url, apiKey: stack.api_key });
    const runs = await collect(client.listRuns({ projectName: project }));
    const [agent] = runs.filter((run) => run.name === "agent");
    const [chat] = runs.filter((run) => run.name === "model");
    expect(agent).toMatchObject({ run_type: "chain", total_tokens: 11 });
    expect(agent?.id.replaceAll("-", "")).toBe(root.spanContext().traceId);
    expect(chat).toMatchObject({
      run_type: "llm",
      parent_run_id: agent?.id,
      dotted_order: expect.stringContaining(`${agent?.dotted_order}.`),
    });
  });
});

test("a text that only the newest and the oldest of 100,000 runs have is found by following cursors", async () => {
  const [session_name, needle] = [unique("many"), unique("needle")];
  const [count, step] = [100_000, 5000];
  const first_ms = Date.now() - count;
  const runAt = (n: number) => {
    const hex = (first_ms + n).toString(16).padStart(12, "0");
    const id = `${hex.slice(0, 8)}-${hex.slice(8)}-7${crypto.randomUUID().slice(15)}`;
    const start_time = new Date(first_ms + n).toISOString();
    const text = n === 0 || n === count - 1 ? needle : "hay";
    return { id, trace_id: id, session_name, name: `n${n}`, start_time, inputs: { text } };
  };
  for (let from = 0; from < count; from += step) {
    const post = Array.from({ length: step }, (_, n) => runAt(from + n));
    expect((await request("POST", "/runs/batch", { post })).status).toBe(202);
  }
  const client = tracing();
  const { id } = await client.readProject({ projectName: session_name });
  const page = async (cursor: string | null) => {
    const query = { session: [id], query: needle, cursor };
    const { body } = await request<RunsPage>("POST", "/runs/query", query);
    return { names: body.runs.map(({ name }) => name), next: body.cursors.next };
  };
  const newest = await page(null);
  expect(newest).toEqual({ names: [`n${count - 1}`], next: expect.any(String) });
  expect(await page(newest.next)).toEqual({ names: ["n0"], next: null });
  const found = await collect(client.listRuns({ projectId: id, query: needle }));
  expect(found.map(({ name }) => name)).toEqual([`n${count - 1}`, "n0"]);
}, 300_000);
