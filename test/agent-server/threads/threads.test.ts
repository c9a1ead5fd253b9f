import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { CronObject } from "../../../src/agent-server/crons/object.ts";
import type { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import { ThreadAlarm } from "../../../src/agent-server/threads/object/thread-alarm.ts";
import { setIsolateOpener } from "../../../src/control-plane/deployments/isolate/isolate.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Thread = {
  thread_id: string;
  status: string;
  metadata: Record<string, unknown>;
  values: Record<string, unknown> | null;
  interrupts: Record<string, unknown[]>;
  updated_at: string;
  ttl?: { strategy: string; ttl_minutes: number; expires_at: string } | null;
};
type Checkpoint = { thread_id: string; checkpoint_id: string; checkpoint_ns: string };
type State = {
  values: Record<string, unknown>;
  next: string[];
  tasks: { state: State | null; checkpoint: Checkpoint | null; interrupts: unknown[] }[];
  metadata: Record<string, unknown>;
  checkpoint: Checkpoint;
  parent_checkpoint: Checkpoint | null;
};

// Runs and copies of megabytes, on a machine that may be busy.

const missing = "01900000-0000-7000-8000-000000000000";

let ours: TestWorkspace;
let deployment_id: string;
let agent: string;

beforeAll(async () => {
  ours = await workspace();
  ({ deployment_id } = await testDeployment(ours.workspace_id));
  agent = `/agents/${deployment_id}`;
});

const send = (method: string, path: string, json?: unknown, headers: Record<string, string> = {}) =>
  api(`${agent}${path}`, {
    key: ours.editor,
    method,
    headers,
    ...(json === undefined ? {} : { json }),
  });
const read = async <T>(response: Response | Promise<Response>): Promise<T> => {
  const answer = await response;
  expect(answer.status, answer.ok ? "" : await answer.clone().text()).toBeLessThan(300);
  return answer.json() as Promise<T>;
};
const refusal = async (response: Promise<Response>) => {
  const answer = await response;
  return [answer.status, await answer.text()];
};
const create = (body: object = {}) => read<Thread>(send("POST", "/threads", body));
const get = (id: string, query = "") => read<Thread>(send("GET", `/threads/${id}${query}`));
const run = (id: string, assistant_id: string, body: object = {}) =>
  read<Record<string, unknown>>(
    send("POST", `/threads/${id}/runs/wait`, { assistant_id, input: {}, ...body }),
  );
const search = (body: object) => read<Partial<Thread>[]>(send("POST", "/threads/search", body));
const idsOf = (threads: Partial<Thread>[]) => threads.map(({ thread_id }) => thread_id);
const history = (id: string, body: object = {}) =>
  read<State[]>(send("POST", `/threads/${id}/history`, { limit: 100, ...body }));
const stateOf = (id: string, query = "") =>
  read<State>(send("GET", `/threads/${id}/state${query}`));

function tag() {
  return { test: crypto.randomUUID() };
}

function stubOf(thread_id: string) {
  return env.THREADS.getByName(`${deployment_id}/${thread_id}`) as DurableObjectStub<ThreadObject>;
}

/** Moves the thread's last change minutes into the past. */
async function age(thread_id: string, minutes: number) {
  const then = new Date(Date.now() - minutes * 60_000).toISOString();
  await runInDurableObject(stubOf(thread_id), async (_instance, state) => {
    state.storage.sql.exec("UPDATE thread SET updated_at = ?", then);
    await state.storage.sync();
    state.abort("as after a restart");
  }).catch(() => {});
}

async function rowsIn(thread_id: string, table: string): Promise<number> {
  return runInDurableObject(
    stubOf(thread_id),
    (_instance, state) =>
      state.storage.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n,
  );
}

describe("search and count", () => {
  test("find what was just made, changed, run and deleted", async () => {
    const mine = tag();
    const { thread_id } = await create({ metadata: mine });
    const found = async (body: object) => idsOf(await search({ metadata: mine, ...body }));
    expect(await found({})).toEqual([thread_id]);
    await read(send("PATCH", `/threads/${thread_id}`, { metadata: { colour: "red" } }));
    expect(await found({ metadata: { ...mine, colour: "red" } })).toEqual([thread_id]);
    await run(thread_id, "steps");
    await eventually(async () => {
      expect(await found({ values: { log: ["a", "b", "c"] } })).toEqual([thread_id]);
    });
    expect(await found({ status: "idle" })).toEqual([thread_id]);
    expect(await found({ status: "busy" })).toEqual([]);
    await send("DELETE", `/threads/${thread_id}`);
    expect(await found({})).toEqual([]);
    expect(await read(send("POST", "/threads/count", { metadata: mine }))).toBe(0);
  });

  test("by values: objects key by key, lists and long texts as a whole", async () => {
    const mine = tag();
    const long = "x".repeat(500);
    const values = [
      { seen: { a: { b: 1 }, list: [1, { y: 2, x: 1 }], text: long } },
      { seen: { a: { b: "1" } } },
    ];
    const made = await Promise.all(
      values.map((one) =>
        create({
          metadata: { ...mine, graph_id: "config" },
          supersteps: [{ updates: [{ values: one, as_node: "look" }] }],
        }),
      ),
    );
    const [first, second] = idsOf(made);
    const found = async (wanted: object) =>
      idsOf(await search({ metadata: mine, values: wanted, sort_order: "asc" }));
    expect(await found({ seen: { a: { b: 1 } } })).toEqual([first]);
    expect(await found({ seen: { a: { b: "1" } } })).toEqual([second]);
    expect(await found({ seen: { list: [1, { x: 1, y: 2 }] } })).toEqual([first]);
    expect(await found({ seen: { list: [1] } })).toEqual([]);
    expect(await found({ seen: { text: long } })).toEqual([first]);
    expect(await found({ seen: { text: `${long}x` } })).toEqual([]);
    expect(await found({ seen: {} })).toHaveLength(2);
    const count = (wanted: object) =>
      read(send("POST", "/threads/count", { metadata: mine, values: wanted }));
    expect(await count({ seen: { a: { b: 1 } } })).toBe(1);
    expect(await count({ nothing: 1 })).toBe(0);
  });

  test("by ids and status", async () => {
    const mine = tag();
    const [a, b] = [await create({ metadata: mine }), await create({ metadata: mine })];
    await run(b.thread_id, "ask");
    expect(idsOf(await search({ ids: [a.thread_id, missing] }))).toEqual([a.thread_id]);
    await eventually(async () => {
      const waiting = await search({ metadata: mine, status: "interrupted" });
      expect(waiting).toMatchObject([
        { thread_id: b.thread_id, interrupts: expect.objectContaining({}) },
      ]);
    });
    const count = (body: object) =>
      read(send("POST", "/threads/count", { metadata: mine, ...body }));
    expect([await count({}), await count({ status: "interrupted" })]).toEqual([2, 1]);
  });

  test("in the requested order, by page", async () => {
    const mine = tag();
    const made: string[] = [];
    for (let n = 0; n < 3; n++) made.push((await create({ metadata: mine })).thread_id);
    await read(send("PATCH", `/threads/${made[0]}`, { metadata: { late: true } }));
    const ids = async (body: object) => idsOf(await search({ metadata: mine, ...body }));
    expect(await ids({})).toEqual([...made].reverse());
    expect(await ids({ sort_by: "created_at", sort_order: "asc" })).toEqual(made);
    expect((await ids({ sort_by: "updated_at" }))[0]).toBe(made[0]);
    expect(await ids({ sort_by: "thread_id", sort_order: "asc" })).toEqual([...made].sort());
    expect(await ids({ sort_by: "status" })).toHaveLength(3);
    expect(await ids({ limit: 1, offset: 1 })).toEqual([made[1]]);
    const page = await send("POST", "/threads/search", { metadata: mine, limit: 2 });
    expect(page.headers.get("X-Pagination-Next")).toBe("2");
    const last = await send("POST", "/threads/search", { metadata: mine, limit: 2, offset: 2 });
    expect(last.headers.get("X-Pagination-Next")).toBeNull();
    expect((await send("POST", "/threads/search", { sort_by: "colour" })).status).toBe(422);
    for (const path of ["threads", "assistants", "store/items", "runs/crons"]) {
      const nulls = await send("POST", `/${path}/search`, { limit: null, offset: null });
      expect([path, nulls.status]).toEqual([path, 200]);
    }
  });

  test("returns selected fields, and extracts nested values", async () => {
    const metadata = tag();
    const { thread_id } = await create({ metadata });
    await run(thread_id, "steps");
    expect(await search({ metadata, select: ["thread_id", "metadata"] })).toEqual([
      { thread_id, metadata: expect.objectContaining(metadata) },
    ]);
    expect(await search({ metadata, select: ["values"] })).toEqual([
      { values: { log: ["a", "b", "c"] } },
    ]);
    const paths = { last: "values.log[-1]", test: "metadata.test", none: "values.log[9].x" };
    expect(await search({ metadata, select: ["thread_id"], extract: paths })).toEqual([
      { thread_id, extracted: { last: "c", test: metadata.test, none: null } },
    ]);
    const wrong = { extract: { x: "values..log" } };
    expect(await refusal(send("POST", "/threads/search", wrong))).toEqual([
      422,
      expect.stringMatching(/extract\.x: must be a path/),
    ]);
  });

  test("returns threads without keys of metadata, and counts them", async () => {
    const metadata = tag();
    const { thread_id } = await create({ metadata });
    await create({ metadata: { ...metadata, cron_id: null } });
    await create({ metadata: { ...metadata, "a.b": 1, nested: { cron_id: 1 } } });
    const without = (...keys: string[]) =>
      search({ metadata, without_metadata: keys, select: ["thread_id"] });
    expect(await without()).toHaveLength(3);
    expect(await without("cron_id")).toHaveLength(2);
    expect(await without("cron_id", "a.b")).toEqual([{ thread_id }]);
    const counted = await send("POST", "/threads/count", { without_metadata: ["test", "cron_id"] });
    const all = await send("POST", "/threads/count", {});
    expect(Number(await counted.text())).toBeLessThan(Number(await all.text()) - 2);
  });

  test("returns the statuses of the newest runs in their order", async () => {
    const metadata = tag();
    const { thread_id } = await create({ metadata });
    const recent = (recent_runs: number) =>
      search({ metadata, select: ["thread_id"], recent_runs });
    expect(await recent(2)).toEqual([{ thread_id, recent_runs: [] }]);
    await run(thread_id, "fails").catch(() => {});
    await run(thread_id, "steps");
    await run(thread_id, "ask");
    const statuses = ["error", "success", "success"];
    expect(await recent(16)).toEqual([{ thread_id, recent_runs: statuses }]);
    expect(await recent(2)).toEqual([{ thread_id, recent_runs: statuses.slice(1) }]);
    expect(await search({ metadata, select: ["thread_id"] })).toEqual([{ thread_id }]);
    expect((await send("POST", "/threads/search", { recent_runs: 101 })).status).toBe(422);
  });

  test("nothing of other deployments", async () => {
    const metadata = tag();
    await create({ metadata });
    const other = await testDeployment(ours.workspace_id);
    const path = `/agents/${other.deployment_id}/threads`;
    const found = await api(`${path}/search`, { key: ours.viewer, json: { metadata } });
    expect(await found.json()).toEqual([]);
    const count = await api(`${path}/count`, { key: ours.viewer, json: { metadata } });
    expect(await count.json()).toBe(0);
  });
});

describe("create", () => {
  test("with a history, superstep by superstep", async () => {
    const supersteps = [
      { updates: [{ values: { messages: [], log: ["in"] }, as_node: "__input__" }] },
      { updates: [{ values: { log: ["in"] }, as_node: "__start__" }] },
      { updates: [{ values: { log: ["a"] }, as_node: "a" }] },
      { updates: [{ command: { update: { log: ["b"] } }, as_node: "b" }] },
    ];
    const { thread_id, values } = await create({ metadata: { graph_id: "steps" }, supersteps });
    expect(values).toEqual({ log: ["in", "a", "b"] });
    const states = await history(thread_id);
    expect(states.map(({ next }) => next)).toEqual([["c"], ["b"], ["a"], ["__start__"]]);
    expect(states.at(-1)?.metadata).toMatchObject({ source: "input" });
    await run(thread_id, "steps", { input: null });
    expect((await get(thread_id)).values).toEqual({ log: ["in", "a", "b", "c"] });
  });

  test("a history whose graph cannot be called creates no thread", async () => {
    setIsolateOpener(() => {
      throw new Error("There is no isolate");
    });
    onTestFinished(() => setIsolateOpener(null));
    const thread_id = crypto.randomUUID();
    const supersteps = [{ updates: [{ values: {}, as_node: "a" }] }];
    const body = { thread_id, metadata: { graph_id: "steps" }, supersteps };
    expect((await send("POST", "/threads", body)).status).toBeGreaterThanOrEqual(500);
    expect((await send("GET", `/threads/${thread_id}`)).status).toBe(404);
  });

  test("a history that the graph refuses creates no thread", async () => {
    const thread_id = crypto.randomUUID();
    const body = {
      thread_id,
      metadata: { graph_id: "steps" },
      supersteps: [{ updates: [{ values: {}, as_node: "nobody" }] }],
    };
    expect(await refusal(send("POST", "/threads", body))).toEqual([
      422,
      expect.stringMatching(/"nobody" does not exist/),
    ]);
    expect((await send("GET", `/threads/${thread_id}`)).status).toBe(404);
    expect((await send("POST", "/threads", { ...body, metadata: {} })).status).toBe(400);
  });
});

describe("update", () => {
  test("merges metadata, and returns nothing with return=minimal", async () => {
    const { thread_id } = await create({ metadata: { a: 1, b: { c: 2 } } });
    const patch = { metadata: { b: { d: 3 } } };
    const minimal = await send("PATCH", `/threads/${thread_id}`, patch, {
      Prefer: "return=minimal",
    });
    expect([minimal.status, await minimal.text()]).toEqual([204, ""]);
    expect((await get(thread_id)).metadata).toEqual({ a: 1, b: { d: 3 } });
    expect((await send("PATCH", `/threads/${missing}`, patch)).status).toBe(404);
    const old = await send("PATCH", `/threads/${thread_id}/state`, { metadata: { e: 4 } });
    expect(old.status).toBe(204);
    expect((await get(thread_id)).metadata).toMatchObject({ e: 4 });
  });
});

describe("copy", () => {
  test("has the whole history under the same ids, in all namespaces", async () => {
    const { thread_id } = await create({ metadata: { topic: "looms" } });
    await run(thread_id, "steps");
    await run(thread_id, "interrupts_after_a_step");
    const copy = await read<Thread>(send("POST", `/threads/${thread_id}/copy`));
    expect(copy).toMatchObject({
      status: "interrupted",
      metadata: { topic: "looms", thread_id: copy.thread_id },
      values: (await get(thread_id)).values,
    });
    expect(copy.thread_id).not.toBe(thread_id);
    const [before, after] = [await history(thread_id), await history(copy.thread_id)];
    const renamed = JSON.parse(JSON.stringify(before).replaceAll(thread_id, copy.thread_id));
    expect(after).toEqual(renamed);
    expect(after[0]?.metadata.thread_id).toBe(copy.thread_id);
    const ns = (await stateOf(copy.thread_id)).tasks[0]?.checkpoint?.checkpoint_ns;
    const [within, copied] = await Promise.all(
      [thread_id, copy.thread_id].map((id) => history(id, { checkpoint: { checkpoint_ns: ns } })),
    );
    expect(within).not.toHaveLength(0);
    expect(copied).toEqual(
      JSON.parse(JSON.stringify(within).replaceAll(thread_id, copy.thread_id)),
    );
  });

  test("does not change with the original, nor the original with the copy", async () => {
    const { thread_id } = await create();
    await run(thread_id, "interrupts_after_a_step");
    const { thread_id: copy } = await read<Thread>(send("POST", `/threads/${thread_id}/copy`));
    const resumed = await run(copy, "interrupts_after_a_step", { command: { resume: "yes" } });
    expect(resumed.log).toContain("within: yes");
    expect(await get(copy)).toMatchObject({ status: "idle" });
    expect(await get(thread_id)).toMatchObject({ status: "interrupted" });
    expect((await stateOf(thread_id)).next).toEqual(["inner"]);
    await send("DELETE", `/threads/${thread_id}`);
    expect(await history(copy)).not.toHaveLength(0);
  });

  test("of a thread that is larger than a message of RPC is complete", async () => {
    const { thread_id } = await create();
    const content = "x".repeat(2_500_000);
    for (const role of ["one", "two", "three"]) {
      await run(thread_id, "echo", {
        input: { messages: [{ role: "user", content: role + content }] },
      });
    }
    const { thread_id: copy } = await read<Thread>(send("POST", `/threads/${thread_id}/copy`));
    for (const table of ["checkpoints", "channel_values", "writes"]) {
      expect([table, await rowsIn(copy, table)]).toEqual([table, await rowsIn(thread_id, table)]);
    }
    expect((await stateOf(copy)).values).toEqual((await stateOf(thread_id)).values);
  });

  test("of a thread in the middle of a run has the status of its last checkpoint", async () => {
    const { thread_id } = await create();
    await send("POST", `/threads/${thread_id}/runs`, {
      assistant_id: "steps",
      input: { delay_ms: 1500 },
    });
    await eventually(async () => expect((await stateOf(thread_id)).values.log).toContain("a"));
    const { thread_id: copy } = await read<Thread>(send("POST", `/threads/${thread_id}/copy`));
    await eventually(async () => {
      expect(await get(copy)).toMatchObject({
        status: "interrupted",
        values: { log: expect.arrayContaining(["a"]) },
      });
    });
    expect(await read(send("GET", `/threads/${copy}/runs`))).toEqual([]);
  });

  test("that was interrupted by a crash is hidden, and deleted by the alarm", async () => {
    const { thread_id } = await create();
    await run(thread_id, "steps");
    const copy = await read<Thread>(send("POST", `/threads/${thread_id}/copy`));
    await runInDurableObject(stubOf(copy.thread_id), async (_instance, state) => {
      const long_ago = Date.now() - 600_000;
      state.storage.sql.exec("UPDATE thread SET temporary = 1, ended_at = ?", long_ago);
      await state.storage.sync();
      state.abort("crash");
    }).catch(() => {});
    expect((await send("GET", `/threads/${copy.thread_id}`)).status).toBe(404);
    await eventually(() => runDurableObjectAlarm(stubOf(copy.thread_id)));
    const kept = await runInDurableObject(
      stubOf(copy.thread_id),
      (_instance, state) => state.storage.kv.get("schema_version") ?? null,
    );
    expect(kept).toBeNull();
  });

  test("of a thread that is not there is a 404", async () => {
    expect(await refusal(send("POST", `/threads/${missing}/copy`))).toEqual([
      404,
      `Thread with ID ${missing} not found`,
    ]);
  });
});

describe("prune", () => {
  const prune = (thread_ids: string[], strategy?: string) =>
    read(send("POST", "/threads/prune", { thread_ids, ...(strategy && { strategy }) }));

  test("deletes threads, and counts those that were there", async () => {
    const [a, b] = [await create(), await create()];
    expect(await prune([a.thread_id, b.thread_id, a.thread_id, missing])).toEqual({
      pruned_count: 2,
    });
    expect((await send("GET", `/threads/${a.thread_id}`)).status).toBe(404);
    expect((await send("POST", "/threads/prune", { thread_ids: ["mine"] })).status).toBe(422);
  });

  test("keeps the latest state, from which the thread continues", async () => {
    const { thread_id } = await create();
    const large = "x".repeat(1_500_000);
    await run(thread_id, "echo", { input: { messages: [{ role: "user", content: large }] } });
    await run(thread_id, "steps");
    await run(thread_id, "interrupts_after_a_step");
    const before = await stateOf(thread_id, "?subgraphs=true");
    expect(await prune([thread_id], "keep_latest")).toEqual({ pruned_count: 1 });
    expect(await history(thread_id)).toHaveLength(1);
    const after = await stateOf(thread_id, "?subgraphs=true");
    expect(after.values).toEqual(before.values);
    expect(after.tasks[0]?.state?.values).toEqual(before.tasks[0]?.state?.values);
    expect(after.checkpoint).toEqual(before.checkpoint);
    expect(after.parent_checkpoint).toBeNull();
    const [values, parts] = [
      await rowsIn(thread_id, "channel_values"),
      await rowsIn(thread_id, "parts"),
    ];
    expect(await prune([thread_id], "keep_latest")).toEqual({ pruned_count: 1 });
    expect(await rowsIn(thread_id, "channel_values")).toBe(values);
    expect(await rowsIn(thread_id, "parts")).toBe(parts);
    const resumed = await run(thread_id, "interrupts_after_a_step", { command: { resume: "yes" } });
    expect(resumed.log).toContain("within: yes");
  });

  test("leaves a thread alone whose run may still be undone", async () => {
    const { thread_id } = await create();
    await run(thread_id, "steps");
    const body = { assistant_id: "steps", input: { delay_ms: 500 } };
    const { run_id } = await read<{ run_id: string }>(
      send("POST", `/threads/${thread_id}/runs`, body),
    );
    expect(await prune([thread_id], "keep_latest")).toEqual({ pruned_count: 0 });
    await send("POST", `/threads/${thread_id}/runs/${run_id}/cancel?wait=1&action=rollback`, {});
    expect((await stateOf(thread_id)).values.log).toEqual(["a", "b", "c"]);
  });
});

describe("time to live", () => {
  const wake = (thread_id: string) => runDurableObjectAlarm(stubOf(thread_id));

  test("is returned on request, and counts from the last change", async () => {
    const { thread_id } = await create({ ttl: { ttl: 60, strategy: "keep_latest" } });
    expect(await get(thread_id)).not.toHaveProperty("ttl");
    const { ttl, updated_at } = await get(thread_id, "?include=ttl");
    expect(ttl).toEqual({
      strategy: "keep_latest",
      ttl_minutes: 60,
      expires_at: new Date(Date.parse(updated_at) + 3_600_000).toISOString(),
    });
    const patched = await send("PATCH", `/threads/${thread_id}`, { ttl: { ttl: 5 } });
    expect(patched.status).toBe(200);
    const [later] = [await get(thread_id, '?include=["ttl"]')];
    expect(later.ttl).toMatchObject({ strategy: "delete", ttl_minutes: 5 });
    expect((await get((await create()).thread_id, "?include=ttl")).ttl).toBeNull();
    expect((await send("POST", "/threads", { ttl: { ttl: -1 } })).status).toBe(422);
  });

  test("delete: removes the thread and all of its data", async () => {
    const metadata = tag();
    const { thread_id } = await create({ metadata, ttl: 10 });
    await run(thread_id, "steps");
    await wake(thread_id);
    expect((await get(thread_id)).status).toBe("idle");
    await age(thread_id, 11);
    await eventually(async () => {
      await wake(thread_id);
      expect((await send("GET", `/threads/${thread_id}`)).status).toBe(404);
    });
    expect(await search({ metadata })).toEqual([]);
  });

  test("keep_latest: the past goes, once, and again after the next change", async () => {
    const { thread_id } = await create({ ttl: { ttl: 10, strategy: "keep_latest" } });
    for (let n = 0; n < 2; n++) {
      await run(thread_id, "steps");
      expect((await history(thread_id)).length).toBeGreaterThan(3);
      await age(thread_id, 11);
      expect((await get(thread_id)).status).toBe("idle");
      await eventually(async () => {
        await wake(thread_id);
        expect(await history(thread_id)).toHaveLength(1);
      });
    }
    expect((await get(thread_id)).values).toEqual({ log: ["a", "b", "c", "a", "b", "c"] });
  });

  test("delete: does not prune a thread that expires while its alarm runs", async () => {
    const { thread_id } = await create({ ttl: 10 });
    await run(thread_id, "steps");
    const later = Date.now() + 11 * 60_000;
    const publish = vi.spyOn(ThreadAlarm.prototype, "publish").mockImplementation(async () => {
      vi.spyOn(Date, "now").mockReturnValue(later);
    });
    await wake(thread_id).finally(() => {
      publish.mockRestore();
      vi.spyOn(Date, "now").mockRestore();
    });
    expect((await history(thread_id)).length).toBeGreaterThan(3);
  });

  test("not while a run is to come", async () => {
    const { thread_id } = await create({ ttl: 10 });
    const body = { assistant_id: "steps", input: {}, after_seconds: 3600 };
    await read(send("POST", `/threads/${thread_id}/runs`, body));
    await age(thread_id, 11);
    await get(thread_id);
    await wake(thread_id);
    expect((await get(thread_id)).status).toBe("busy");
  });

  test("not when a run is accepted while the deletion begins", async () => {
    const { thread_id } = await create({ ttl: 10 });
    await age(thread_id, 11);
    const body = { assistant_id: "steps", input: {} };
    const endCrons = vi.spyOn(CronObject.prototype, "endOfThread").mockImplementation(async () => {
      await read(send("POST", `/threads/${thread_id}/runs`, body));
    });
    onTestFinished(() => endCrons.mockRestore());
    await wake(thread_id);
    expect(endCrons).toHaveBeenCalledOnce();
    await eventually(async () =>
      expect(await get(thread_id)).toMatchObject({
        status: "idle",
        values: { log: ["a", "b", "c"] },
      }),
    );
  });

  test("every new thread has that of the configuration", async () => {
    const other = await testDeployment(ours.workspace_id);
    const ttl = { strategy: "keep_latest", default_ttl: 43_200, sweep_interval_minutes: 5 };
    await env.DB.prepare("UPDATE revisions SET config = ? WHERE id = ?")
      .bind(JSON.stringify({ checkpointer: { ttl } }), other.revision_id)
      .run();
    const path = `/agents/${other.deployment_id}/threads`;
    const of = async (json: object) => {
      const { thread_id } = await read<Thread>(api(path, { key: ours.editor, json }));
      return (await read<Thread>(api(`${path}/${thread_id}?include=ttl`, { key: ours.viewer })))
        .ttl;
    };
    expect(await of({})).toMatchObject({ strategy: "keep_latest", ttl_minutes: 43_200 });
    expect(await of({ ttl: 5 })).toMatchObject({ strategy: "delete", ttl_minutes: 5 });
  });
});

describe("state", () => {
  test("at a checkpoint: by its id, and by an object with a namespace", async () => {
    const { thread_id } = await create();
    await run(thread_id, "steps");
    const states = await history(thread_id);
    const [, second] = states;
    const { checkpoint_id } = second?.checkpoint ?? { checkpoint_id: "" };
    expect(await stateOf(thread_id, `/${checkpoint_id}`)).toEqual(second);
    const at = (checkpoint: object) =>
      read(send("POST", `/threads/${thread_id}/state/checkpoint`, { checkpoint }));
    expect(await at({ checkpoint_id })).toEqual(second);
    expect(await at({ ...second?.checkpoint, checkpoint_map: null })).toEqual(second);
  });

  test("that its graph cannot read is a 502 with the graph's error, and the thread stays usable", async () => {
    const { thread_id } = await create();
    const config = { configurable: { fails_for: "threads.read" } };
    await run(thread_id, "factory", { config });
    const text = "The graph cannot read the state of the thread: RangeError: no graph";
    expect(await refusal(send("GET", `/threads/${thread_id}/state`))).toEqual([502, text]);
    expect(await refusal(send("POST", `/threads/${thread_id}/history`, {}))).toEqual([502, text]);
    expect(await get(thread_id)).toMatchObject({ status: "idle", values: { log: ["first"] } });
    await run(thread_id, "steps");
    expect(await stateOf(thread_id)).toMatchObject({ next: [] });
  });

  test("of a graph whose factory calls its own server is read and updated", async () => {
    const { thread_id } = await create();
    await run(thread_id, "opens_by_call", { config: { configurable: { calls_server: true } } });
    const values = { log: [expect.stringMatching(/^found_/)] };
    const state = await stateOf(thread_id);
    expect(state).toMatchObject({ values, next: [] });
    expect((await history(thread_id))[0]).toEqual(state);
    const [as_node] = state.values.log as string[];
    await read(send("POST", `/threads/${thread_id}/state`, { values: { log: ["more"] }, as_node }));
    expect((await stateOf(thread_id)).values.log).toHaveLength(2);
  });

  test("with the graphs within: as their own states, or as where to find them", async () => {
    const { thread_id } = await create();
    await run(thread_id, "interrupts_after_a_step");
    const flat = await stateOf(thread_id);
    expect(flat).toMatchObject({ next: ["inner"], interrupts: [{ value: "well?" }] });
    expect(flat.tasks[0]).toMatchObject({ state: null, interrupts: [{ value: "well?" }] });
    const within = flat.tasks[0]?.checkpoint;
    expect(within).toMatchObject({ thread_id, checkpoint_ns: expect.stringMatching(/^inner:/) });
    const deep = await stateOf(thread_id, "?subgraphs=true");
    expect(deep.tasks[0]).toMatchObject({
      checkpoint: null,
      state: {
        values: { log: ["before"] },
        next: ["question"],
        tasks: [{ name: "question", interrupts: [{ value: "well?" }], state: null }],
        interrupts: [{ value: "well?" }],
      },
    });
    const body = { checkpoint: within, subgraphs: false };
    const direct = await read(send("POST", `/threads/${thread_id}/state/checkpoint`, body));
    expect(direct).toMatchObject({ values: { log: ["before"] }, next: ["question"] });
    expect(direct).toMatchObject({ interrupts: [{ value: "well?" }] });
  });

  test("of a subgraph that interrupts again: the new interrupt is at every depth, and none after its answer", async () => {
    const { thread_id } = await create();
    await run(thread_id, "interrupts_within");
    await run(thread_id, "interrupts_within", { command: { resume: "one" } });
    // The newest question of the task, as LangGraph's own states have it.
    const question = [{ id: expect.any(String), value: { question: "second?" } }];
    expect(await stateOf(thread_id, "?subgraphs=true")).toMatchObject({
      interrupts: question,
      tasks: [
        {
          interrupts: question,
          state: { interrupts: question, tasks: [{ interrupts: question }] },
        },
      ],
    });
    await run(thread_id, "interrupts_within", { command: { resume: "two" } });
    expect(await stateOf(thread_id, "?subgraphs=true")).toMatchObject({
      tasks: [],
      interrupts: [],
    });
  });

  test("of a subgraph can be written, and its run continues from it", async () => {
    const { thread_id } = await create();
    await run(thread_id, "interrupts_after_a_step");
    const checkpoint = (await stateOf(thread_id)).tasks[0]?.checkpoint;
    const update = { values: { log: ["by hand"] }, checkpoint, as_node: "before" };
    const updated = await read(send("POST", `/threads/${thread_id}/state`, update));
    expect(updated).toMatchObject({ checkpoint: { checkpoint_ns: checkpoint?.checkpoint_ns } });
    const resumed = await run(thread_id, "interrupts_after_a_step", { command: { resume: "yes" } });
    expect(resumed.log).toEqual(expect.arrayContaining(["before", "by hand", "within: yes"]));
  });

  test("from an earlier checkpoint: a fork, with the branch before still there", async () => {
    const { thread_id } = await create();
    await run(thread_id, "steps");
    const states = await history(thread_id);
    const atB = states.find(({ next }) => next[0] === "b");
    const update = {
      values: { log: ["fork"] },
      checkpoint_id: atB?.checkpoint.checkpoint_id,
      as_node: "b",
    };
    const { checkpoint } = await read<{ checkpoint: Checkpoint }>(
      send("POST", `/threads/${thread_id}/state`, update),
    );
    const head = await stateOf(thread_id);
    expect(head.checkpoint).toMatchObject({ checkpoint_id: checkpoint.checkpoint_id });
    expect(head).toMatchObject({ values: { log: ["a", "fork"] }, next: ["c"] });
    expect(head.parent_checkpoint?.checkpoint_id).toBe(atB?.checkpoint.checkpoint_id);
    expect(await get(thread_id)).toMatchObject({ status: "interrupted", values: head.values });
    expect(await history(thread_id)).toHaveLength(states.length + 1);
    expect((await stateOf(thread_id, `/${states[0]?.checkpoint.checkpoint_id}`)).values).toEqual({
      log: ["a", "b", "c"],
    });
    await run(thread_id, "steps", { input: null });
    expect((await get(thread_id)).values).toEqual({ log: ["a", "fork", "c"] });
  });

  test("of a copied checkpoint has its values, also once the original is pruned", async () => {
    const { thread_id } = await create();
    await run(thread_id, "steps");
    const { values } = await stateOf(thread_id);
    const update = { values: null, as_node: "__copy__" };
    await read(send("POST", `/threads/${thread_id}/state`, update));
    const [copy, original] = await history(thread_id);
    expect(copy?.values).toEqual(values);
    expect(copy?.parent_checkpoint).toEqual(original?.parent_checkpoint);
    await read(
      send("POST", "/threads/prune", { thread_ids: [thread_id], strategy: "keep_latest" }),
    );
    expect((await stateOf(thread_id)).values).toEqual(values);
  });

  test("without values is a new checkpoint, and by a node that is not there a 422", async () => {
    const { thread_id } = await create();
    await run(thread_id, "steps");
    const before = await history(thread_id);
    await read(send("POST", `/threads/${thread_id}/state`, { values: null }));
    expect(await history(thread_id)).toHaveLength(before.length + 1);
    const wrong = { values: { log: ["x"] }, as_node: "nobody" };
    expect(await refusal(send("POST", `/threads/${thread_id}/state`, wrong))).toEqual([
      422,
      expect.stringMatching(/nobody/),
    ]);
  });

  test("shows the fields that are selected", async () => {
    const { thread_id } = await create();
    await run(thread_id, "steps", { input: { delay_ms: 1 } });
    const repeated = await stateOf(thread_id, "?select=values.log&select=next");
    expect(repeated).toEqual({ values: { log: ["a", "b", "c"] }, next: [] });
    expect(await stateOf(thread_id, '?select=["values.log","next"]')).toEqual(repeated);
    const [newest] = await history(thread_id, { select: ["values.delay_ms", "checkpoint"] });
    expect(newest).toEqual({ values: { delay_ms: 1 }, checkpoint: expect.anything() });
    const at = { checkpoint: newest?.checkpoint, select: ["next"] };
    expect(await read(send("POST", `/threads/${thread_id}/state/checkpoint`, at))).toEqual({
      next: [],
    });
    expect(await refusal(send("GET", `/threads/${thread_id}/state?select=colour`))).toEqual([
      422,
      expect.stringMatching(/query.select/),
    ]);
  });
});

describe("history", () => {
  test("before a checkpoint, in each form that clients have for it", async () => {
    const { thread_id } = await create();
    await run(thread_id, "steps");
    const all = await history(thread_id);
    const checkpoint = all[1]?.checkpoint;
    const { checkpoint_id } = checkpoint ?? {};
    for (const before of [
      checkpoint_id,
      checkpoint,
      { checkpoint_id },
      { configurable: { checkpoint_id } },
      { configurable: checkpoint },
    ]) {
      expect(await history(thread_id, { before })).toEqual(all.slice(2));
    }
    expect(await history(thread_id, { before: checkpoint_id, limit: 1 })).toEqual([all[2]]);
  });

  test("by limit, by metadata and at one checkpoint", async () => {
    const { thread_id } = await create();
    await run(thread_id, "steps");
    await run(thread_id, "steps", { metadata: { round: 2, of: { a: 1, b: [2] } } });
    const all = await history(thread_id);
    expect(await history(thread_id, { limit: 2 })).toEqual(all.slice(0, 2));
    const second = await history(thread_id, { metadata: { round: 2 } });
    expect(second.length).toBe(all.length / 2);
    expect(await history(thread_id, { metadata: { of: { b: [2], a: 1 } } })).toEqual(second);
    expect(await history(thread_id, { metadata: { of: { a: 1 } } })).toEqual([]);
    expect(await history(thread_id, { metadata: { source: "input" } })).toHaveLength(2);
    expect(await history(thread_id, { checkpoint: all[3]?.checkpoint })).toEqual([all[3]]);
    expect(await read(send("POST", `/threads/${thread_id}/history`, {}))).toHaveLength(10);
  });
});

describe("the stream of a thread", () => {
  type Sent = { event: string; id: string | null; data: Record<string, unknown> };

  async function open(thread_id: string, { query = "", last = "" } = {}) {
    const headers = { ...(last && { "Last-Event-ID": last }) };
    const response = await send("GET", `/threads/${thread_id}/stream${query}`, undefined, headers);
    expect(response.headers.get("Content-Type")).toContain("text/event-stream");
    const { pathname, search } = new URL(`/threads/${thread_id}/stream${query}`, "https://a.test");
    expect(response.headers.get("Location")).toBe(pathname + search);
    return response;
  }

  /** Reads until there are so many events; the stream itself has no end. */
  async function take(response: Response, count: number) {
    const reader = response.body?.getReader();
    let text = "";
    for (;;) {
      const events = parse(text);
      if (events.length >= count) {
        await reader?.cancel();
        return events;
      }
      const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
      if (done) return events;
      text += new TextDecoder().decode(value);
    }
  }

  function parse(text: string): Sent[] {
    const frames = text
      .split("\n\n")
      .slice(0, -1)
      .filter((frame) => frame.includes("data: "));
    return frames.map((frame) => {
      const field = (name: string) =>
        frame
          .split("\n")
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2) ?? null;
      return {
        event: field("event") ?? "",
        id: field("id"),
        data: JSON.parse(field("data") ?? ""),
      };
    });
  }

  const updates = { stream_mode: "updates" };

  test("emits the events of all runs, earlier ones with Last-Event-ID", async () => {
    const { thread_id } = await create();
    await run(thread_id, "steps", updates);
    const response = await open(thread_id);
    await run(thread_id, "steps", updates);
    const live = await take(response, 4);
    expect(live.map(({ event }) => event)).toEqual(["metadata", "updates", "updates", "updates"]);
    const all = await take(await open(thread_id, { last: "-" }), 8);
    expect(all.slice(4)).toEqual(live);
    const ids = all.map(({ id }) => Number(id));
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    const rest = await take(await open(thread_id, { last: String(ids[4]) }), 3);
    expect(rest).toEqual(all.slice(5));
  });

  test("emits starts, ends and states with stream_mode", async () => {
    const { thread_id } = await create();
    const query = '?stream_modes=["lifecycle","state_update"]';
    const taking = take(await open(thread_id, { query }), 6);
    await run(thread_id, "steps");
    await run(thread_id, "fails", { input: { log: [] } });
    const events = await taking;
    expect(events.map(({ event, data }) => [event, data.event ?? data.status])).toEqual([
      ["lifecycle", "running"],
      ["lifecycle", "completed"],
      ["state_update", "idle"],
      ["lifecycle", "running"],
      ["lifecycle", "failed"],
      ["state_update", "error"],
    ]);
    expect(events[2]?.data).toMatchObject({ values: { log: ["a", "b", "c"] } });
    const again = await take(await open(thread_id, { query, last: "-1" }), 5);
    expect(again.map(({ data }) => data.event ?? data.status)).toEqual([
      "running",
      "completed",
      "running",
      "failed",
      "error",
    ]);
  });

  test("ends with its thread, and refuses what it does not know", async () => {
    const { thread_id } = await create();
    const response = await open(thread_id);
    await send("DELETE", `/threads/${thread_id}`);
    expect(await take(response, 1)).toEqual([]);
    expect((await send("GET", `/threads/${thread_id}/stream`)).status).toBe(404);
    const { thread_id: other } = await create();
    expect((await send("GET", `/threads/${other}/stream?stream_mode=telepathy`)).status).toBe(422);
  });
});

test("a change that meets a deletion finds the thread, or finds none", async () => {
  const ends = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const created = await api(`${agent}/threads`, { key: ours.editor, json: {} });
      const { thread_id } = await created.json<Thread>();
      const path = `${agent}/threads/${thread_id}`;
      const json = { metadata: { changed: true } };
      const [changed, deleted] = await Promise.all([
        api(path, { key: ours.editor, method: "PATCH", json }),
        api(path, { key: ours.editor, method: "DELETE" }),
      ]);
      expect(deleted.status).toBe(204);
      return changed.status;
    }),
  );
  expect(ends.filter((status) => ![200, 404].includes(status))).toEqual([]);
});
