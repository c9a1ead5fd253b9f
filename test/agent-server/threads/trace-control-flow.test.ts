import { expect, test } from "vitest";
import { treeOf } from "../../support/agent-traces.ts";
import { testThread } from "../../support/threads.ts";

/** Runs a graph to its end or interrupt, and returns its trace. */
async function traceOf(graph_id: string, body: Record<string, unknown> = {}) {
  const thread = await testThread();
  const { run_id } = await thread.create(graph_id, { input: {}, ...body });
  await thread.join(run_id);
  return treeOf(thread, run_id);
}

test.each([
  ["a node", "ask", ["ask"], { question: "go on?" }],
  [
    "a subgraph",
    "interrupts_after_a_step",
    ["inner", "question", "interrupts_after_a_step"],
    "well?",
  ],
  [
    "a tool in a traced function",
    "confirms",
    ["act", "approve", "confirm", "confirms"],
    { confirm: "pay" },
  ],
])("an interrupt in %s is an output of all that it ends", async (_, graph_id, names, value) => {
  const runs = await traceOf(graph_id);
  for (const { name, status, error } of runs) {
    expect({ name, status, error }).toEqual({ name, status: "success", error: null });
  }
  const ended = runs.filter(({ name }) => names.includes(name ?? ""));
  expect(ended.length).toBeGreaterThanOrEqual(names.length);
  for (const { name, outputs } of ended) {
    expect({ name, outputs }).toMatchObject({ name, outputs: { __interrupt__: [{ value }] } });
  }
});

test("a tool that works on when another one interrupts has no error", async () => {
  const runs = await traceOf("interrupts_and_looks");
  expect(runs.map(({ name }) => name)).toEqual(expect.arrayContaining(["approve", "lookup"]));
  for (const { name, error } of runs) expect({ name, error }).toEqual({ name, error: null });
});

test("a handover from a subgraph succeeds", async () => {
  const runs = await traceOf("hands_over");
  expect(runs.map(({ status }) => status)).toEqual(runs.map(() => "success"));
  const given = runs.find(({ name }) => name === "give");
  expect(given?.outputs).toMatchObject({ output: { goto: ["taker"] } });
  expect(runs.find(({ name }) => name === "hands_over")?.outputs).toEqual({
    log: ["given", "taken"],
  });
});

test("an error stays one, whatever its text", async () => {
  const runs = await traceOf("breaks_within");
  const error = expect.stringContaining("a text of the agent");
  for (const name of ["break", "inner", "breaks_within"]) {
    expect(runs.find((run) => run.name === name)).toMatchObject({ status: "error", error });
  }
});

test("a run that fails before its first node has a root with its input and the message", async () => {
  const runs = await traceOf("typed", { input: { city: "Ulm" }, context: { model: 5 } });
  expect(runs).toMatchObject([{ name: "typed", inputs: { city: "Ulm" }, status: "error" }]);
  expect(runs[0]?.error).toContain("expected string, received number");
});
