import type { Run } from "langsmith";
import { beforeAll, describe, expect, test } from "vitest";
import { client } from "./support/clients.ts";
import { build, exampleUrl } from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { killWorker, until } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";
import { collect, pathsOf, traceOf, tracing } from "./support/tracing.ts";

const humanInput = (content: string) => ({ messages: [{ role: "user", content }] });

let test_agent: string;
let chat: string;
beforeAll(async () => {
  test_agent = await deployTestAgent();
  chat = (await build("chat", exampleUrl("chat"))).id;
});

const rootOf = (runs: Run[], run_id: string) => runs.find(({ id }) => id === run_id);
const named = (runs: Run[], name: string) => runs.filter((run) => run.name === name);

function assertTree(runs: Run[], run_id: string) {
  const root = rootOf(runs, run_id);
  expect(new Set(runs.map(({ id }) => id)).size).toBe(runs.length);
  expect(runs.filter(({ parent_run_id }) => !parent_run_id)).toEqual([root]);
  const byId = new Map(runs.map((run) => [run.id, run]));
  for (const run of runs) {
    expect(run.trace_id).toBe(run_id);
    expect(run.dotted_order?.endsWith(run.id)).toBe(true);
    expect(timeOf(run.start_time)).toBeGreaterThanOrEqual(timeOf(root?.start_time));
    expect(timeOf(run.end_time)).toBeLessThanOrEqual(timeOf(root?.end_time));
    if (run.id === run_id) continue;
    const parent = byId.get(run.parent_run_id ?? "");
    expect(run.dotted_order?.startsWith(`${parent?.dotted_order}.`)).toBe(true);
  }
}

function timeOf(time: unknown): number {
  return new Date(String(time)).getTime();
}

function models(runs: Run[]): Run[] {
  return runs.filter(({ run_type }) => run_type === "llm");
}

describe("an agent with a model and a tool", () => {
  const question = humanInput("calculate 6 * 7");

  function assertAnswer(trace: Run[], run_id: string) {
    assertTree(trace, run_id);
    const turn = ["chat > model", "chat > model > LocalModel", "chat > model > RunnableLambda"];
    const tools = ["chat > tools", "chat > tools > calculate"];
    expect(pathsOf(trace)).toEqual(["chat", "chat > __start__", ...turn, ...tools, ...turn]);
    const [call, reply] = models(trace);
    expect(call).toMatchObject({ prompt_tokens: 4, completion_tokens: 1, total_tokens: 5 });
    expect(reply?.total_tokens).toBeGreaterThan(5);
    const [tool, ...others] = trace.filter(({ run_type }) => run_type === "tool");
    expect(others).toEqual([]);
    expect(tool).toMatchObject({ name: "calculate", status: "success" });
    expect(JSON.stringify(tool?.inputs)).toContain("6 * 7");
    expect(JSON.stringify(tool?.outputs)).toContain("42");
  }

  test("leaves its tree on a thread: nodes, models with tokens, the tool", async () => {
    const { threads, runs } = client(chat);
    const { thread_id } = await threads.create();
    let run_id = "";
    const stream = runs.stream(thread_id, "chat", {
      input: question,
      streamMode: ["messages-tuple", "values"],
      metadata: { customer: "c1" },
      config: { tags: ["mine"] },
      onRunCreated: (run) => {
        run_id = run.run_id;
      },
    });
    await collect(stream);
    const trace = await traceOf(run_id);
    assertAnswer(trace, run_id);
    const root = {
      name: "chat",
      run_type: "chain",
      status: "success",
      tags: ["mine"],
      inputs: question,
      extra: { metadata: { thread_id, run_id, customer: "c1" } },
    };
    expect(rootOf(trace, run_id)).toMatchObject(root);
    expect(await tracing().readRun(run_id)).toMatchObject({ ...root, trace_id: run_id });
  });

  test("leaves the same without a thread", async () => {
    const stream = client(chat).runs.stream(null, "chat", { input: question });
    const [metadata] = await collect(stream);
    const { run_id } = (metadata?.data ?? {}) as { run_id: string };
    assertAnswer(await traceOf(run_id), run_id);
  });

  test("leaves a trace for each run of a thread: the interrupted and the resumed", async () => {
    const { threads, runs } = client(chat);
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "chat", { input: humanInput("refund order 1042 with 19.90") });
    await runs.wait(thread_id, "chat", {
      command: { resume: { decisions: [{ type: "approve" }] } },
    });
    const ids = (await runs.list(thread_id)).map(({ run_id }) => run_id).reverse();
    const [call = [], resumed = []] = await Promise.all(ids.map(traceOf));
    for (const [n, trace] of [call, resumed].entries()) {
      assertTree(trace, ids[n] ?? "");
      expect(rootOf(trace, ids[n] ?? "")).toMatchObject({ status: "success", error: null });
    }
    expect(named(call, "refund_order")).toEqual([]);
    expect(named(resumed, "refund_order")).toHaveLength(1);
    const filter = `eq(thread_id, "${thread_id}")`;
    const session_id = call[0]?.session_id ?? "";
    const found = tracing().listRuns({ projectId: session_id, filter, isRoot: true, order: "asc" });
    expect((await collect(found)).map(({ id }) => id)).toEqual(ids);
  });
});

test("a failure is recorded on the node and on the root", async () => {
  const { threads, runs } = client(test_agent);
  const { thread_id } = await threads.create();
  const { run_id } = await runs.create(thread_id, "fails", { input: {} });
  const trace = await traceOf(run_id);
  assertTree(trace, run_id);
  for (const name of ["fails", "boom"]) {
    const error = expect.stringContaining("the node broke");
    expect(named(trace, name)).toEqual([expect.objectContaining({ status: "error", error })]);
  }
});

test("a cancel ends what it cuts off", async () => {
  const { threads, runs } = client(test_agent);
  const { thread_id } = await threads.create();
  const { run_id } = await runs.create(thread_id, "steps", { input: { delay_ms: 60_000 } });
  await until(
    "The first step",
    () => collect(tracing().listRuns({ traceId: run_id })),
    (seen) => named(seen, "a").length === 1,
  );
  await runs.cancel(thread_id, run_id, true);
  const trace = await traceOf(run_id);
  assertTree(trace, run_id);
  for (const name of ["steps", "a"]) {
    expect(named(trace, name)).toEqual([expect.objectContaining({ status: "error" })]);
  }
});

test("a thread that is deleted right after its run leaves its trace", async () => {
  const { threads, runs } = client(test_agent);
  const { thread_id } = await threads.create();
  await runs.wait(thread_id, "steps", { input: {} });
  const [run] = await runs.list(thread_id);
  await threads.delete(thread_id);
  const trace = await traceOf(run?.run_id ?? "");
  for (const name of ["a", "b", "c"]) expect(named(trace, name)).toHaveLength(1);
});

test("a function that a node traces itself hangs below the node", async () => {
  const { threads, runs } = client(test_agent);
  const { thread_id } = await threads.create();
  const { run_id } = await runs.create(thread_id, "traced", { input: {} });
  const trace = await traceOf(run_id);
  assertTree(trace, run_id);
  expect(pathsOf(trace)).toContain("traced > node > outer > inner");
});

test("a run may choose the project of its trace", async () => {
  const { threads } = client(test_agent);
  const { thread_id } = await threads.create();
  const projectName = `chosen-${crypto.randomUUID().slice(0, 8)}`;
  // The SDK names the project after a tracer in its own process; this is what it sends.
  const path = `/agents/${test_agent}/threads/${thread_id}/runs`;
  const { body } = await request<{ run_id: string }>("POST", path, {
    assistant_id: "echo",
    input: humanInput("hi"),
    langsmith_tracer: { project_name: projectName },
  });
  const trace = await traceOf(body.run_id);
  assertTree(trace, body.run_id);
  const { id } = await tracing().readProject({ projectName });
  expect(new Set(trace.map(({ session_id }) => session_id))).toEqual(new Set([id]));
});

test("a deployment whose secrets switch tracing off leaves nothing", async () => {
  const off = await build("quiet", exampleUrl("chat"), {
    secrets: [{ name: "LANGSMITH_TRACING", value: "false" }],
  });
  const { threads, runs } = client(off.id);
  const { thread_id } = await threads.create();
  await runs.wait(thread_id, "chat", { input: humanInput("hello") });
  const { body } = await request<{ tracing_project_id: string }>(
    "GET",
    `/v2/deployments/${off.id}`,
  );
  // Traces arrive within a second. A later traced run shows that this one was ingested.
  const traced = await client(chat).runs.create(
    (await client(chat).threads.create()).thread_id,
    "chat",
    { input: humanInput("hello") },
  );
  await traceOf(traced.run_id);
  const projectId = body.tracing_project_id;
  expect(await collect(tracing().listRuns({ projectId }))).toEqual([]);
});

test("a killed Worker costs a trace nothing that was committed, and leaves nothing open", async () => {
  const { threads, runs } = client(test_agent);
  const { thread_id } = await threads.create();
  const { run_id } = await runs.create(thread_id, "steps", {
    input: { delay_ms: 1_200 },
    streamMode: "updates",
  });
  for await (const { event } of runs.joinStream(thread_id, run_id)) {
    if (event === "updates") break;
  }
  await killWorker();
  await until(
    "The Worker's return",
    () => request("GET", "/ok").catch(() => ({ status: 0 })),
    ({ status }) => status === 200,
  );
  await runs.join(thread_id, run_id);
  const trace = await traceOf(run_id);
  assertTree(trace, run_id);
  const done = trace.filter(({ status }) => status === "success").map(({ name }) => name);
  expect(done.sort()).toEqual(["__start__", "a", "b", "c", "steps"]);
  for (const run of trace.filter(({ status }) => status === "error")) {
    expect(run.error).toContain("Interrupted");
  }
});
