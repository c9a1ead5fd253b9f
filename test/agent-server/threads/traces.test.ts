import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { ensureTracingProject } from "../../../src/control-plane/deployments/api/service.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { ProjectsQuery } from "../../../src/traces/projects/schema.ts";
import { deleteProject, listProjects } from "../../../src/traces/projects/service.ts";
import { contextOf, delivered, read, stubOf, treeOf, waiting } from "../../support/agent-traces.ts";
import { eventually } from "../../support/eventually.ts";
import { loseTrace } from "../../support/lost-traces.ts";
import { createLazyTables } from "../../support/thread-tables.ts";
import { ownRevision, testThread } from "../../support/threads.ts";

test("a run leaves its tree: root, nodes, model and tool", async () => {
  const thread = await testThread();
  const { run_id } = await thread.create("tooled", {
    input: { messages: [{ role: "user", content: "hi" }] },
    config: { tags: ["mine"], metadata: { user: "u1" } },
  });
  await thread.join(run_id);
  const runs = await treeOf(thread, run_id);
  const root = runs.find(({ id }) => id === run_id);
  expect(root).toMatchObject({ name: "tooled", run_type: "chain", parent_run_id: null });
  expect(root).toMatchObject({ status: "success", tags: ["mine"], error: null });
  expect(root?.extra).toMatchObject({
    metadata: {
      ...{ thread_id: thread.thread_id, run_id, graph_id: "tooled", user: "u1" },
      queue_wait_ms: expect.any(Number),
    },
  });
  const waits = runs.map(({ extra }) => "queue_wait_ms" in Object(extra?.metadata));
  expect(waits.filter(Boolean)).toEqual([true]);
  const byName = new Map(runs.map((run) => [run.name, run]));
  const model = runs.find(({ run_type }) => run_type === "llm");
  expect(model).toMatchObject({ run_type: "llm", total_tokens: 12, status: "success" });
  expect(model?.parent_run_id).toBe(byName.get("model")?.id);
  expect(byName.get("look_up")).toMatchObject({ run_type: "tool" });
  expect(byName.get("look_up")?.parent_run_id).toBe(byName.get("tools")?.id);
  expect(byName.get("model")?.parent_run_id).toBe(run_id);
  for (const run of runs) {
    expect(run.dotted_order?.startsWith(root?.dotted_order ?? "-")).toBe(true);
    expect(run.end_time).not.toBeNull();
  }
});

test("the runs of a thread are found by its id", async () => {
  const thread = await testThread();
  await thread.wait("plain", { input: { text: "a" } });
  await thread.wait("steps", { input: {} });
  await delivered(thread.place);
  const filter = `eq(thread_id, "${thread.thread_id}")`;
  const roots = await read(thread.place, { filter, is_root: true });
  expect(roots.map(({ name }) => name)).toEqual(["plain", "steps"]);
  expect(roots[0]).toMatchObject({ inputs: { text: "a" }, outputs: { count: 0 } });
});

test.each([
  ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "0af7651916cd43dd8448eb211c80319c"],
  [
    "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
    "0af7651916cd43dd8448eb211c80319c",
  ],
  ["ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", undefined],
  ["00-00000000000000000000000000000000-b7ad6b7169203331-01", undefined],
  ["00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", undefined],
])(
  "the root names the span of its caller by the traceparent %s",
  async (traceparent, otel_trace_id) => {
    const thread = await testThread();
    const { run_id } = await thread.create("steps", {
      input: {},
      config: { configurable: { traceparent } },
    });
    await thread.join(run_id);
    const runs = await treeOf(thread, run_id);
    const idsOf = ({ extra }: (typeof runs)[number]) => {
      const metadata = Object(extra?.metadata);
      return [metadata.otel_trace_id, metadata.otel_parent_span_id];
    };
    const span = otel_trace_id && "b7ad6b7169203331";
    expect(runs.filter(({ id }) => id === run_id).map(idsOf)).toEqual([[otel_trace_id, span]]);
    const others = runs.filter(({ id }) => id !== run_id).map(idsOf);
    expect(others.flat().every((id) => id === undefined)).toBe(true);
  },
);

test("the trace of a caller has none of the later runs of the thread", async () => {
  const thread = await testThread();
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await thread.wait("steps", { input: {}, config: { configurable: { traceparent } } });
  const later = await thread.create("steps", { input: {} });
  await thread.join(later.run_id);
  const root = (await treeOf(thread, later.run_id)).find(({ id }) => id === later.run_id);
  expect(root?.extra).toMatchObject({ metadata: { run_id: later.run_id } });
  expect(Object.keys(Object(root?.extra?.metadata))).not.toContain("otel_trace_id");
});

test("a failure and a cancel are written to the root, which ends", async () => {
  const thread = await testThread();
  const failing = await thread.create("fails", { input: {} });
  await thread.join(failing.run_id);
  const root = (await treeOf(thread, failing.run_id)).find(({ id }) => id === failing.run_id);
  expect(root).toMatchObject({ status: "error", error: expect.stringContaining("node broke") });

  const slow = await thread.create("plain", { input: { wait_ms: 60_000 } });
  await eventually(async () =>
    expect((await thread.object.getRun(slow.run_id))?.status).toBe("running"),
  );
  await thread.object.cancelRun(slow.run_id, "interrupt", { wait: true, reason: null });
  const [cancelled] = await treeOf(thread, slow.run_id);
  expect(cancelled).toMatchObject({ status: "error", error: expect.stringContaining("cancelled") });
  expect(cancelled?.end_time).not.toBeNull();
});

test("an interrupt ends its root without an error, and the resumed run has another root", async () => {
  const thread = await testThread();
  const first = await thread.create("ask", { input: {} });
  await thread.join(first.run_id);
  const second = await thread.create("ask", { command: { resume: "yes" } });
  await thread.join(second.run_id);
  for (const { run_id } of [first, second]) {
    const root = (await treeOf(thread, run_id)).find(({ id }) => id === run_id);
    expect(root).toMatchObject({ status: "success", error: null });
  }
});

test("what a cancel or a failure cuts off does not stay open", async () => {
  const thread = await testThread();
  const { run_id } = await thread.create("steps", { input: { delay_ms: 60_000 } });
  await eventually(async () =>
    expect((await read(thread.place, { trace: run_id })).map(({ name }) => name)).toContain("a"),
  );
  await thread.object.cancelRun(run_id, "interrupt", { wait: true, reason: null });
  const runs = await treeOf(thread, run_id);
  const failed = runs.filter(({ status }) => status === "error").map(({ name }) => name);
  expect(failed.sort()).toEqual(["a", "steps"]);
});

test("a run that is rolled back leaves a trace that is ended", async () => {
  const thread = await testThread();
  const { run_id } = await thread.create("steps", { input: { delay_ms: 60_000 } });
  await eventually(async () =>
    expect((await read(thread.place, { trace: run_id })).map(({ name }) => name)).toContain("a"),
  );
  await thread.object.cancelRun(run_id, "rollback", { wait: true, reason: null });
  await eventually(async () => {
    const runs = await read(thread.place, { trace: run_id });
    expect(runs.map(({ end_time }) => end_time === null)).toEqual([false, false, false]);
  });
});

test("a thread that is deleted right after its run, or in it, leaves its trace", async () => {
  const after = await testThread();
  const done = await after.create("steps", { input: {} });
  await after.join(done.run_id);
  await after.object.deleteThread();
  await eventually(async () => {
    const runs = await read(after.place, { trace: done.run_id });
    expect(runs.map(({ name }) => name).sort()).toEqual(["__start__", "a", "b", "c", "steps"]);
  });
  const within = await testThread();
  const cut = await within.create("steps", { input: { delay_ms: 60_000 } });
  await eventually(async () =>
    expect(await read(within.place, { trace: cut.run_id })).toHaveLength(3),
  );
  await within.object.deleteThread();
  await eventually(async () => {
    const runs = await read(within.place, { trace: cut.run_id });
    expect(runs.map(({ end_time }) => end_time === null)).toEqual([false, false, false]);
  });
});

test("a run whose isolate was lost before it sent traces has a root", async () => {
  const thread = await testThread();
  const { run_id } = await thread.create("echo", {
    input: { messages: [] },
    metadata: { user: "u1" },
  });
  await thread.join(run_id);
  await loseTrace(thread);
  const [root, ...others] = await treeOf(thread, run_id);
  expect(others).toEqual([]);
  expect(root).toMatchObject({ id: run_id, name: "echo", status: "success" });
  expect(root).toMatchObject({ inputs: { messages: [] }, extra: { metadata: { user: "u1" } } });
});

test("a conversation's messages are complete in each node's inputs, and sent once per run", async () => {
  const thread = await testThread();
  const messages = Array.from({ length: 6 }, (_, n) => ({ role: "user", content: `say ${n}` }));
  const { run_id } = await thread.create("tooled", { input: { messages } });
  await thread.join(run_id);
  const runs = await treeOf(thread, run_id);
  for (const name of ["model", "tools"]) {
    const [node] = runs.filter((run) => run.name === name);
    const text = JSON.stringify(node?.inputs);
    for (const { content } of messages) expect(text.split(`"${content}"`)).toHaveLength(2);
  }
});

test("a long conversation waits for its delivery once, and each step has it whole", async () => {
  const thread = await testThread();
  const messages = Array.from({ length: 200 }, (_, n) => ({
    role: "user",
    content: `say ${n} ${"and more ".repeat(20)}`,
  }));
  const { run_id } = await thread.create("echo", { input: { messages } });
  await thread.join(run_id);
  const outboxBytes = () =>
    runInDurableObject(stubOf(thread.place), (_instance, { storage }) => {
      createLazyTables(storage.sql);
      const [row] = storage.sql.exec<{ bytes: number }>(
        `SELECT (SELECT coalesce(sum(length(ops)), 0) FROM trace_outbox)
           + (SELECT coalesce(sum(length(data)), 0) FROM parts WHERE name LIKE 'trace %') AS bytes`,
      );
      return row?.bytes ?? 0;
    });
  const bytes = await eventually(async () => {
    expect(await outboxBytes()).toBeGreaterThan(0);
    return outboxBytes();
  });
  const runs = await treeOf(thread, run_id);
  const root = runs.find(({ id }) => id === run_id);
  const node = runs.find(({ name }) => name === "reply");
  type ModelStart = { kwargs: { content: string } };
  const contentsOf = (payload: unknown) =>
    (payload as { messages: ModelStart[] }).messages.map(({ kwargs }) => kwargs.content);
  const contents = messages.map(({ content }) => content);
  expect(contentsOf(node?.inputs)).toEqual(contents);
  expect(contentsOf(root?.outputs)).toEqual([...contents, `echo: ${contents.at(-1)}`]);
  // The client's own input is a text that the others do not share.
  const texts = [root?.inputs, root?.outputs].map((payload) => JSON.stringify(payload).length);
  expect(bytes).toBeLessThan(1.3 * texts.reduce((sum, length) => sum + length));
});

test("values that JSON cannot represent are described in text, and the run succeeds", async () => {
  const thread = await testThread();
  const { run_id } = await thread.create("odd", { input: {} });
  expect((await thread.join(run_id)).log).toEqual(["odd"]);
  const text = JSON.stringify(await treeOf(thread, run_id));
  expect(text).toContain("refers back to itself");
});

test("a run whose object crashes continues the same trace, each step once", async () => {
  const thread = await testThread();
  const { place } = thread;
  const { run_id } = await thread.create("steps", { input: { delay_ms: 600 } });
  await eventually(async () =>
    expect(
      (await read(place, { trace: run_id })).some(
        ({ name, end_time }) => name === "a" && end_time !== null,
      ),
    ).toBe(true),
  );
  await runInDurableObject(stubOf(place), (_instance, state) => state.abort("crash")).catch(
    () => {},
  );
  expect((await thread.join(run_id)).log).toEqual(["a", "b", "c"]);
  const runs = await treeOf(thread, run_id);
  expect(runs.filter(({ end_time }) => end_time === null)).toEqual([]);
  const ended = runs.filter(({ error }) => error === null).map(({ name }) => name);
  const steps = ended.filter((name) => ["a", "b", "c", "steps"].includes(String(name)));
  expect(steps.toSorted()).toEqual(["a", "b", "c", "steps"]);
  const root = runs.find(({ id }) => id === run_id);
  expect(root).toMatchObject({ status: "success", inputs: { delay_ms: 600 } });
});

test("traces that were committed before an eviction are delivered after it", async () => {
  const thread = await testThread();
  const { place } = thread;
  const { run_id } = await thread.create("echo", { input: { messages: [] } });
  await thread.join(run_id);
  await eventually(async () => expect((await waiting(place)).outbox).toBeGreaterThan(0), {
    interval: 5,
  });
  await runInDurableObject(stubOf(place), (_instance, state) => state.abort("crash")).catch(
    () => {},
  );
  await runDurableObjectAlarm(stubOf(place));
  expect((await treeOf(thread, run_id)).map(({ id }) => id)).toContain(run_id);
});

test("a large trace is delivered after the end of its run, complete", async () => {
  const thread = await testThread();
  const content = "x".repeat(100_000);
  const { run_id } = await thread.create("echo", {
    input: { messages: [{ role: "user", content }] },
  });
  await thread.join(run_id);
  const runs = await treeOf(thread, run_id);
  expect(runs.length).toBeGreaterThan(1);
  expect(runs.filter(({ end_time }) => end_time === null)).toEqual([]);
  expect(JSON.stringify(runs.find(({ id }) => id === run_id)?.inputs)).toContain(content);
});

test("threads whose runs end together deliver their traces together, each its own", async () => {
  const threads = await Promise.all(Array.from({ length: 8 }, () => testThread()));
  const runs = await Promise.all(
    threads.map(async (thread, n) => {
      const input = { messages: [{ role: "user", content: `number ${n}` }] };
      const { run_id } = await thread.create("echo", { input });
      await thread.join(run_id);
      return { thread, run_id, n };
    }),
  );
  for (const { thread, run_id, n } of runs) {
    const root = (await treeOf(thread, run_id)).find(({ id }) => id === run_id);
    expect(JSON.stringify(root?.inputs)).toContain(`number ${n}`);
  }
});

test("a run may select the project of its trace", async () => {
  const thread = await testThread();
  const name = `chosen-${newId()}`;
  const { run_id } = await thread.create("echo", {
    input: { messages: [] },
    langsmith_tracer: { project_name: name },
  });
  await thread.join(run_id);
  await delivered(thread.place);
  const ctx = contextOf(thread.place);
  const [project] = await listProjects(ctx, ProjectsQuery.parse({ name }));
  const found = await read(thread.place, { session: [project?.id], trace: run_id });
  expect(found.map(({ id }) => id)).toContain(run_id);
});

test("a configuration that switches tracing off is not traced", async () => {
  const thread = await testThread(ownRevision({ LANGSMITH_TRACING: "false" }));
  const run_id = newId();
  await thread.wait("echo", { input: { messages: [] } }, run_id);
  expect(await treeOf(thread, run_id)).toEqual([]);
});

test("traces go to a new project once that of the deployment was deleted", async () => {
  // Other files of the process use the shared revision and its project.
  const thread = await testThread(ownRevision());
  const ctx = contextOf(thread.place);
  const first = await thread.create("steps", { input: {} });
  await thread.join(first.run_id);
  await delivered(thread.place);
  const project_id = await ensureTracingProject(ctx, thread.place.deployment_id);
  await deleteProject(ctx, project_id);
  const { run_id } = await thread.create("steps", { input: {} });
  await thread.join(run_id);
  const tree = await treeOf(thread, run_id);
  expect(tree.map(({ name }) => name)).toContain("steps");
  expect(await ensureTracingProject(ctx, thread.place.deployment_id)).not.toBe(project_id);
});
