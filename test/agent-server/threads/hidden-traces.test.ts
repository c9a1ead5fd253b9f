import { beforeAll, describe, expect, test } from "vitest";
import { treeOf } from "../../support/agent-traces.ts";
import { loseTrace } from "../../support/lost-traces.ts";
import { ownRevision, testThread } from "../../support/threads.ts";

const SECRET = "hidden text";
const HIDDEN = {
  LANGSMITH_HIDE_INPUTS: "true",
  LANGCHAIN_HIDE_OUTPUTS: "true",
  LANGSMITH_HIDE_METADATA: "True",
};
const messages = [{ role: "user", content: SECRET }];
const metadata = { user: SECRET };

describe("an environment that hides the fields of traces", () => {
  let revision: ReturnType<typeof ownRevision>;
  beforeAll(() => {
    revision = ownRevision(HIDDEN);
  });

  test.each([
    ["a graph", "echo", { input: { messages } }],
    ["a graph with a model and a tool", "tooled", { input: { messages } }],
    ["a function", "plain", { input: { text: SECRET } }],
    ["a graph that fails", "throws", { input: { thrown: { name: "Error", secret: SECRET } } }],
    [
      "a graph that cannot be opened",
      "factory",
      { input: { log: [SECRET] }, config: { configurable: { fails_for: "threads.create_run" } } },
    ],
    ["an interrupted graph", "forks", { input: { topic: SECRET, act: "ask" } }],
  ])("%s", async (_name, graph_id, body) => {
    const thread = await testThread(revision);
    const { run_id } = await thread.create(graph_id, { ...body, metadata });
    await thread.join(run_id);
    const runs = await treeOf(thread, run_id);
    const root = runs.find(({ id }) => id === run_id);
    expect(root).toMatchObject({ inputs: {}, extra: { metadata: { run_id, graph_id } } });
    for (const { inputs, outputs, extra } of runs) {
      expect([inputs, outputs ?? {}]).toEqual([{}, {}]);
      expect(JSON.stringify(extra)).not.toContain(SECRET);
    }
  });

  test("a run whose isolate was lost before it sent traces", async () => {
    const thread = await testThread(revision);
    const { run_id } = await thread.create("echo", { input: { messages }, metadata });
    await thread.join(run_id);
    await loseTrace(thread);
    const runs = await treeOf(thread, run_id);
    expect(runs).toMatchObject([{ id: run_id, inputs: {}, extra: { metadata: { run_id } } }]);
    expect(JSON.stringify(runs)).not.toContain(SECRET);
  });
});

test("an environment hides no field by another value", async () => {
  const of = ownRevision({ LANGSMITH_HIDE_INPUTS: "false", LANGCHAIN_HIDE_INPUTS: "true" });
  const thread = await testThread(of);
  const { run_id } = await thread.create("echo", { input: { messages }, metadata });
  await thread.join(run_id);
  const root = (await treeOf(thread, run_id)).find(({ id }) => id === run_id);
  const texts = [root?.inputs, root?.outputs, root?.extra].map((field) => JSON.stringify(field));
  for (const text of texts) expect(text).toContain(SECRET);
});
