import { beforeAll, describe, expect, test } from "vitest";
import { client, lines } from "./support/clients.ts";
import { until } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";

type Log = { log: string[] };

let deployment_id: string;
beforeAll(async () => {
  deployment_id = await deployTestAgent();
});

describe.each(lines)("the SDK %s", (_line, sdk) => {
  const of = () => sdk(deployment_id);
  const tag = () => ({ test: crypto.randomUUID() });

  test("makes, versions, searches and deletes assistants", async () => {
    const { assistants } = of();
    const metadata = tag();
    const made = await assistants.create({
      graphId: "steps",
      name: "Weaver",
      config: { configurable: { tone: "dry" } },
      metadata,
    });
    expect(await assistants.get(made.assistant_id)).toEqual(made);
    const updated = await assistants.update(made.assistant_id, { metadata: { more: 1 } });
    expect(updated).toMatchObject({ version: 2, metadata: { ...metadata, more: 1 } });
    expect(await assistants.getVersions(made.assistant_id)).toHaveLength(2);
    const back = await assistants.setLatest(made.assistant_id, 1);
    expect(back).toMatchObject({ version: 1, metadata });
    expect(await assistants.count({ metadata })).toBe(1);
    const { assistants: found, next } = await assistants.search({
      metadata,
      sortBy: "name",
      sortOrder: "asc",
      includePagination: true,
    });
    expect([found, next]).toEqual([[expect.objectContaining({ name: "Weaver" })], null]);
    await assistants.delete(made.assistant_id);
    await expect(assistants.get(made.assistant_id)).rejects.toThrow(
      "HTTP 404: Assistant not found",
    );
    await expect(assistants.getVersions(made.assistant_id)).rejects.toThrow(
      `HTTP 404: Assistant "${made.assistant_id}" not found.`,
    );
  });

  test("deletes an assistant's threads on request", async () => {
    const { assistants, threads, runs } = of();
    const { assistant_id } = await assistants.create({ graphId: "steps" });
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, assistant_id, { input: {} });
    await assistants.delete(assistant_id, { deleteThreads: true });
    await expect(threads.get(thread_id)).rejects.toThrow("HTTP 404");
  });

  test("draws graphs and reads their schemas", async () => {
    const { assistants } = of();
    const flat = await assistants.getGraph("interrupts_after_a_step");
    expect(flat.nodes.map(({ id }) => id)).toContain("inner");
    const deep = await assistants.getGraph("interrupts_after_a_step", { xray: true });
    expect(deep.nodes.length).toBeGreaterThan(flat.nodes.length);
    expect(await assistants.getGraph("interrupts_after_a_step", { xray: 1 })).toEqual(deep);
    expect(await assistants.getSchemas("typed")).toMatchObject({
      state_schema: { properties: { city: { type: "string" } } },
    });
    const within = await assistants.getSubgraphs("interrupts_after_a_step", { recurse: true });
    expect(Object.keys(within)).toEqual(["inner"]);
    expect(
      await assistants.getSubgraphs("interrupts_after_a_step", { namespace: "inner" }),
    ).toEqual(within);
  });

  test("finds and counts threads by what they are and hold", async () => {
    const { threads, runs } = of();
    const metadata = tag();
    const made = await threads.create({ metadata });
    expect(await threads.search({ metadata })).toHaveLength(1);
    await runs.wait(made.thread_id, "ask", { input: { log: ["x"] } });
    const [waiting] = await until(
      "the thread to be found as waiting",
      () => threads.search<Log>({ metadata, status: "interrupted", values: { log: ["x"] } }),
      (found) => found.length === 1,
    );
    expect(Object.values(waiting?.interrupts ?? {}).flat()).toMatchObject([
      { value: { question: "go on?" } },
    ]);
    expect(await threads.count({ metadata, status: "interrupted" })).toBe(1);
    expect(
      await threads.search({ ids: [made.thread_id], select: ["thread_id", "status"] }),
    ).toEqual([{ thread_id: made.thread_id, status: "interrupted" }]);
    await threads.delete(made.thread_id);
    expect(await threads.count({ metadata })).toBe(0);
  });

  test("copies a thread, reads its history and writes its state", async () => {
    const { threads, runs } = of();
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "interrupts_after_a_step", { input: {} });
    const copy = await threads.copy(thread_id);
    const [before, after] = [
      await threads.getHistory(thread_id),
      await threads.getHistory(copy.thread_id),
    ];
    expect(after).toEqual(JSON.parse(JSON.stringify(before).replaceAll(thread_id, copy.thread_id)));
    const state = await threads.getState<Log>(copy.thread_id, undefined, { subgraphs: true });
    expect(state.tasks[0]?.state).toMatchObject({ values: { log: ["before"] } });
    const head = after[0]?.checkpoint;
    if (!head?.checkpoint_id) throw new Error("no head");
    expect(await threads.getState(copy.thread_id, head)).toEqual(after[0]);
    expect(await threads.getState(copy.thread_id, head.checkpoint_id)).toEqual(after[0]);
    const config = { configurable: { checkpoint_id: head.checkpoint_id } };
    expect(await threads.getHistory(copy.thread_id, { before: config })).toEqual(after.slice(1));
    const resumed = await runs.wait(copy.thread_id, "interrupts_after_a_step", {
      command: { resume: "yes" },
    });
    expect((resumed as Log).log).toContain("within: yes");
    await threads.updateState(copy.thread_id, { values: { log: ["by hand"] }, asNode: "after" });
    expect((await threads.get<Log>(copy.thread_id)).values.log.at(-1)).toBe("by hand");
  });

  test("makes a thread with a history, step by step", async () => {
    const { threads, runs } = of();
    const { thread_id } = await threads.create({
      graphId: "steps",
      supersteps: [
        { updates: [{ values: { log: ["in"] }, asNode: "__input__" }] },
        { updates: [{ values: { log: ["in"] }, asNode: "__start__" }] },
        { updates: [{ values: { log: ["a"] }, asNode: "a" }] },
      ],
    });
    expect((await threads.getState(thread_id)).next).toEqual(["b"]);
    expect(await runs.wait(thread_id, "steps", { input: null })).toMatchObject({
      log: ["in", "a", "b", "c"],
    });
  });

  test("follows all runs of a thread", async () => {
    const { threads, runs } = of();
    const { thread_id } = await threads.create();
    const stop = new AbortController();
    const stream = threads.joinStream(thread_id, {
      lastEventId: "-",
      streamMode: ["run_modes", "lifecycle"],
      signal: stop.signal,
    });
    const names: string[] = [];
    const reading = (async () => {
      for await (const { event } of stream) {
        names.push(event);
        if (names.filter((name) => name === "lifecycle").length === 4) return;
      }
    })();
    for (let n = 0; n < 2; n++) {
      await runs.wait(thread_id, "steps", { input: {} });
    }
    await reading;
    stop.abort();
    const one = ["lifecycle", "metadata", "values", "values", "values", "lifecycle"];
    expect(names).toEqual([...one, ...one]);
  });
});

test("the SDK 1.15 prunes, keeps for a time and selects", async () => {
  const { threads, runs } = client(deployment_id);
  const { thread_id } = await threads.create({ ttl: 30 });
  await runs.wait(thread_id, "steps", { input: {} });
  expect(await threads.get(thread_id, { include: ["ttl"] })).toMatchObject({
    ttl: { ttl_minutes: 30, strategy: "delete" },
  });
  await threads.update(thread_id, { ttl: 60, returnMinimal: true });
  const { values, ...rest } = await threads.getState<Log>(thread_id, undefined, {
    select: ["values.log"],
  });
  expect([values, rest]).toEqual([{ log: ["a", "b", "c"] }, {}]);
  expect(await threads.prune([thread_id], { strategy: "keep_latest" })).toEqual({
    pruned_count: 1,
  });
  expect(await threads.getHistory(thread_id)).toHaveLength(1);
  const [found] = await threads.search({ ids: [thread_id], extract: { last: "values.log[-1]" } });
  expect(found).toMatchObject({ extracted: { last: "c" } });
  expect(await threads.prune([thread_id])).toEqual({ pruned_count: 1 });
  await expect(threads.get(thread_id)).rejects.toThrow("HTTP 404");
});
