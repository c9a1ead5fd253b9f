import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { testDeployment } from "../../support/agent-deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { objectNameOf } from "../../support/threads.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

const hi = { messages: [{ role: "user", content: "hi" }] };
const missing = "01900000-0000-7000-8000-000000000000";

let ours: TestWorkspace;
let theirs: TestWorkspace;
let agent: string;

beforeAll(async () => {
  [ours, theirs] = [await workspace(), await workspace()];
  agent = `/agents/${(await testDeployment(ours.workspace_id)).deployment_id}`;
});

const post = (path: string, json: unknown, key = ours.editor) =>
  api(`${agent}${path}`, { key, json });
const get = (path: string, key = ours.viewer) => api(`${agent}${path}`, { key });

async function newThread(): Promise<string> {
  const response = await post("/threads", {});
  const { thread_id } = (await response.json()) as { thread_id: string };
  return thread_id;
}

test("an agent responds to ok by its id and by its slug", async () => {
  for (const path of ["/ok", "/ok?check_db=1", "/ok?check_db=0"]) {
    expect(await (await get(path)).json()).toEqual({ ok: true });
  }
  const odd = await get("/ok?check_db=perhaps");
  expect([odd.status, await odd.text()]).toEqual([422, expect.stringMatching(/check_db/)]);
  expect(await (await get("/info")).json()).toMatchObject({ flags: { assistants: true } });
  const bySlug = agent.replace("/agents/", "/agents/test-");
  expect((await api(`${bySlug}/ok`, { key: ours.viewer })).status).toBe(200);
});

test("a thread is created once, and returned again with do_nothing", async () => {
  const body = { thread_id: crypto.randomUUID(), metadata: { topic: "looms" } };
  const created = await post("/threads", body);
  expect(created.status).toBe(200);
  expect(await created.json()).toMatchObject({ ...body, status: "idle", config: {}, values: null });
  const again = await post("/threads", body);
  expect([again.status, await again.text()]).toEqual([409, "Thread already exists"]);
  const allowed = await post("/threads", { ...body, metadata: {}, if_exists: "do_nothing" });
  expect(await allowed.json()).toMatchObject(body);
});

test("a deleted thread is gone, and so is one that never was", async () => {
  const id = await newThread();
  const remove = () => api(`${agent}/threads/${id}`, { key: ours.editor, method: "DELETE" });
  expect((await remove()).status).toBe(204);
  expect((await remove()).status).toBe(404);
  const gone = await get(`/threads/${id}`);
  expect([gone.status, await gone.text()]).toEqual([404, `Thread with ID ${id} not found`]);
});

test("a list of runs with more than 20 Mi characters is refused, and a smaller one is answered", async () => {
  const id = await newThread();
  for (let n = 0; n < 3; n++) {
    const response = await post(`/threads/${id}/runs`, {
      assistant_id: "echo",
      input: { blob: "x".repeat(9 * 1024 * 1024) },
      multitask_strategy: "enqueue",
      after_seconds: 3600,
    });
    expect(response.status).toBe(200);
  }
  const refused = await get(`/threads/${id}/runs?limit=1000`);
  expect([refused.status, await refused.text()]).toEqual([
    413,
    expect.stringMatching(/^limit: .* use a smaller limit/),
  ]);
  const answered = await get(`/threads/${id}/runs?limit=2`);
  expect(answered.status).toBe(200);
  expect(await answered.json()).toHaveLength(2);
}, 60_000);

test("lists of runs and threads with more than a million objects and lists are refused", async () => {
  const id = await newThread();
  const input = { lists: new Array(450_000).fill([]) };
  const later = { multitask_strategy: "enqueue", after_seconds: 3600 };
  for (let n = 0; n < 3; n++) {
    const run = { assistant_id: "echo", input, ...later };
    expect((await post(`/threads/${id}/runs`, run)).status).toBe(200);
  }
  expect((await get(`/threads/${id}/runs?limit=2`)).status).toBe(200);
  const runs = await get(`/threads/${id}/runs?limit=3`);
  const refused = [
    413,
    expect.stringMatching(/or 1000000 objects and lists.* use a smaller limit/),
  ];
  expect([runs.status, await runs.text()]).toEqual(refused);

  const metadata = { kind: "many lists" };
  for (let n = 0; n < 3; n++) {
    const created = await post("/threads", { metadata });
    const { thread_id } = await created.json<{ thread_id: string }>();
    const run = { assistant_id: "echo", input: hi };
    expect((await post(`/threads/${thread_id}/runs/wait`, run)).status).toBe(200);
    await setValues(thread_id, JSON.stringify(input));
  }
  await expectListed(metadata, 3);
  expect((await post("/threads/search", { metadata, limit: 2 })).status).toBe(200);
  const threads = await post("/threads/search", { metadata, limit: 3 });
  expect([threads.status, await threads.text()]).toEqual(refused);

  const kind = "lists in metadata";
  const lists = new Array(40_000).fill([]);
  for (let n = 0; n < 26; n++) {
    expect((await post("/threads", { metadata: { kind, lists } })).status).toBe(200);
  }
  await expectListed({ kind }, 26);
  for (const select of [["metadata"], undefined]) {
    const search = { metadata: { kind }, select };
    expect((await post("/threads/search", { ...search, limit: 20 })).status).toBe(200);
    const all = await post("/threads/search", { ...search, limit: 26 });
    expect([all.status, await all.text()]).toEqual(refused);
  }
}, 60_000);

/** Waits until a search finds the threads: it waits for changes that are being published for a second at most. */
async function expectListed(metadata: Record<string, string>, count: number) {
  await eventually(async () => {
    const response = await post("/threads/count", { metadata });
    expect(await response.json()).toBe(count);
  });
}

/** Sets the values as a graph could have left them. */
async function setValues(thread_id: string, values: string) {
  const [, , deployment_id = ""] = agent.split("/");
  const stub = env.THREADS.getByName(objectNameOf(deployment_id, thread_id));
  await runInDurableObject(stub, (_, { storage }) =>
    storage.sql.exec('UPDATE thread SET "values" = ?', values),
  );
  await evictDurableObject(stub);
}

test("a run returns its location", async () => {
  const id = await newThread();
  const response = await post(`/threads/${id}/runs`, { assistant_id: "echo", input: hi });
  const run = (await response.json()) as { run_id: string; assistant_id: string };
  expect(response.headers.get("Content-Location")).toBe(`/threads/${id}/runs/${run.run_id}`);
  expect(run).toMatchObject({ thread_id: id, multitask_strategy: "enqueue" });
  const joined = await get(`/threads/${id}/runs/${run.run_id}/join`);
  expect(await joined.json()).toMatchObject({ messages: [{}, { content: "echo: hi" }] });
  const byId = await post(`/threads/${id}/runs/wait`, {
    assistant_id: run.assistant_id,
    input: hi,
  });
  expect(byId.status).toBe(200);
  const listed = (await (
    await get(`/threads/${id}/runs?limit=1000&select=run_id`)
  ).json()) as object[];
  expect(listed).toHaveLength(2);
  expect(listed[1]).toEqual({ run_id: run.run_id });
});

test("a threadless run streams, can be followed by its id, and leaves no thread", async () => {
  const response = await post("/runs/stream", { assistant_id: "echo", input: hi });
  expect(response.headers.get("Content-Type")).toContain("text/event-stream");
  const location = response.headers.get("Location") ?? "";
  expect(location).toBe(`${response.headers.get("Content-Location")}/stream`);
  const text = await response.text();
  expect(text).toContain("echo: hi");
  expect(text).not.toContain("event: end");
  expect(await (await get(location)).text()).toBe(text);
  const run_id = location.split("/")[2];
  expect((await get(`/threads/${run_id}`)).status).toBe(404);
});

test("a client that reconnects finds the answer to its request", async () => {
  const id = await newThread();
  const waited = await post(`/threads/${id}/runs/wait`, { assistant_id: "echo", input: hi });
  const joined = await get(waited.headers.get("Location") ?? "");
  expect(await joined.json()).toEqual(await waited.json());
  const threadless = await post("/runs/wait", { assistant_id: "echo", input: hi });
  await threadless.text();
  expect(threadless.headers.get("Location")).toMatch(/^\/threads\/(.{36})\/runs\/\1\/join$/);
  const path = `${waited.headers.get("Content-Location")}/stream?stream_mode=updates`;
  const streamed = await get(path);
  expect(streamed.headers.get("Location")).toBe(path);
  expect(await streamed.text()).not.toContain("event: values");
});

test("a threadless run is kept with on_completion", async () => {
  const response = await post("/runs/wait", {
    assistant_id: "echo",
    input: hi,
    on_completion: "keep",
  });
  await response.text();
  const run_id = response.headers.get("Content-Location")?.split("/")[2];
  expect(await (await get(`/threads/${run_id}`)).json()).toMatchObject({ status: "idle" });
});

test("a run may create its thread", async () => {
  const id = crypto.randomUUID();
  const body = { assistant_id: "echo", input: hi };
  const refused = await post(`/threads/${id}/runs/wait`, body);
  expect([refused.status, await refused.text()]).toEqual([404, `Thread with ID ${id} not found`]);
  const created = await post(`/threads/${id}/runs/wait`, { ...body, if_not_exists: "create" });
  expect(created.status).toBe(200);
  await created.text();
  expect((await get(`/threads/${id}/state`)).status).toBe(200);
});

test("reject answers 409 with the reason, cancel frees the thread", async () => {
  const id = await newThread();
  const slow = { assistant_id: "steps", input: { delay_ms: 2_000 } };
  const { run_id } = (await (await post(`/threads/${id}/runs`, slow)).json()) as { run_id: string };
  const second = await post(`/threads/${id}/runs`, { ...slow, multitask_strategy: "reject" });
  expect(second.status).toBe(409);
  expect(await second.text()).toContain("Thread is already running a task");
  const busy = await post(`/threads/${id}/state`, { values: { log: ["x"] } });
  expect([busy.status, await busy.text()]).toEqual([409, "Thread is busy"]);
  const cancel = await post(`/threads/${id}/runs/${run_id}/cancel?wait=0`, {});
  expect(cancel.status).toBe(202);
  const again = await post(`/threads/${id}/runs/${run_id}/cancel?wait=1&action=rollback`, {});
  expect(again.status).toBe(204);
});

test("a thread that names its graph can be given a state before it ever ran", async () => {
  const created = await post("/threads", { metadata: { graph_id: "steps" } });
  const { thread_id } = (await created.json()) as { thread_id: string };
  const update = { values: { log: ["by hand"] }, as_node: "c" };
  expect((await post(`/threads/${thread_id}/state`, update)).status).toBe(200);
  const state = await get(`/threads/${thread_id}/state`);
  expect(await state.json()).toMatchObject({ values: { log: ["by hand"] }, next: [] });
});

test("an empty thread has an empty state and no graph to update", async () => {
  const id = await newThread();
  expect(await (await get(`/threads/${id}/state`)).json()).toEqual({
    values: {},
    next: [],
    tasks: [],
    created_at: null,
    checkpoint: null,
    parent_checkpoint: null,
  });
  expect(await (await post(`/threads/${id}/history`, { limit: 5 })).json()).toEqual([]);
  expect((await post(`/threads/${id}/state`, { values: {} })).status).toBe(400);
});

describe("what is wrong is named, and changes nothing", () => {
  const cases: [string, string, unknown, number, RegExp][] = [
    [
      "an unknown assistant",
      "/runs",
      { assistant_id: "nobody" },
      404,
      /No assistant found for "nobody"/,
    ],
    ["no assistant", "/runs", {}, 422, /body\.assistant_id/],
    [
      "an unknown stream mode",
      "/runs/stream",
      { assistant_id: "echo", stream_mode: "telepathy" },
      422,
      /stream_mode/,
    ],
    [
      "an unknown strategy",
      "/runs",
      { assistant_id: "echo", multitask_strategy: "fight" },
      422,
      /multitask_strategy/,
    ],
    [
      "a negative delay",
      "/runs",
      { assistant_id: "echo", after_seconds: -1 },
      422,
      /after_seconds/,
    ],
    [
      "a delay beyond all dates",
      "/runs",
      { assistant_id: "echo", after_seconds: 1e15 },
      422,
      /after_seconds/,
    ],
    [
      "a thread id that is no UUID",
      "/threads",
      { thread_id: "mine" },
      422,
      /thread_id: must be a UUID/,
    ],
    [
      "metadata beyond its limit",
      "/threads",
      { metadata: { x: "y".repeat(140_000) } },
      422,
      /metadata: must be at most 131072 characters/,
    ],
    [
      "a flood of modes",
      "/runs",
      { assistant_id: "echo", stream_mode: new Array(500_000).fill(0) },
      422,
      /stream_mode/,
    ],
    [
      "a flood of tags",
      "/runs",
      { assistant_id: "echo", config: { tags: new Array(500_000).fill(0) } },
      422,
      /config.tags: must have at most 1000 items/,
    ],
    ["metadata that is no object", "/threads", { metadata: "x" }, 422, /metadata/],
    ["an unknown thread", `/threads/${missing}/runs`, { assistant_id: "echo" }, 404, /not found/],
    ["an unknown thread's state", `/threads/${missing}/state`, { values: {} }, 404, /not found/],
  ];
  test.each(cases)("%s", async (_what, path, body, status, text) => {
    const response = await post(path, body);
    expect([response.status, await response.text()]).toEqual([status, expect.stringMatching(text)]);
  });

  test("malformed JSON", async () => {
    const response = await api(`${agent}/threads`, {
      key: ours.editor,
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: "{",
    });
    expect(response.status).toBe(400);
    expect(await response.text()).toMatch(/^Malformed JSON in request body: Expected/);
  });

  test("an unknown run", async () => {
    const id = await newThread();
    for (const path of ["", "/join", "/stream"]) {
      const response = await get(`/threads/${id}/runs/${missing}${path}`);
      expect([response.status, await response.text()]).toEqual([404, "Run not found"]);
    }
    expect((await get(`/runs/${missing}/stream`)).status).toBe(404);
    expect((await post(`/threads/${id}/runs/${missing}/cancel`, {})).status).toBe(404);
  });
});

test.each(["[x", "[1]", '["values", []]', `${"[".repeat(2000)}${"]".repeat(2000)}`])(
  "a list in a query that is not a list of names is refused: %s",
  async (text) => {
    const id = await newThread();
    const created = await post(`/threads/${id}/runs`, { assistant_id: "echo" });
    const { run_id } = (await created.json()) as { run_id: string };
    const list = encodeURIComponent(text);
    for (const path of [`runs?select=${list}`, `runs/${run_id}/stream?stream_mode=${list}`]) {
      const response = await get(`/threads/${id}/${path}`);
      expect([response.status, await response.text()]).toEqual([
        422,
        expect.stringContaining("list of names"),
      ]);
    }
  },
);

test.each([
  ["/runs?select=run_id&select=colour", "select"],
  ["?include=ttl,colour", "include"],
  ["/stream?stream_modes=colour", "stream_mode"],
  [`/runs/${crypto.randomUUID()}/stream?stream_mode=values&stream_mode=colour`, "stream_mode"],
])(
  "a name in a query that is not understood is refused with the known ones: %s",
  async (path, name) => {
    const response = await get(`/threads/${await newThread()}${path}`);
    expect([response.status, await response.text()]).toEqual([
      422,
      expect.stringMatching(new RegExp(`query\\.${name}.*colour.* is not one of `)),
    ]);
  },
);

test.each(["-7", "1.5", "x"])(
  "a Last-Event-ID that does not name an event is refused: %s",
  async (id) => {
    const path = `/threads/${await newThread()}/runs/${crypto.randomUUID()}/stream`;
    const response = await api(`${agent}${path}`, {
      key: ours.editor,
      headers: { "Last-Event-ID": id },
    });
    expect([response.status, await response.text()]).toEqual([
      422,
      expect.stringContaining("last-event-id"),
    ]);
  },
);

test("an empty stream_mode, as the Python SDK sends it, streams all modes of the run", async () => {
  const id = await newThread();
  const body = { assistant_id: "steps", input: { delay_ms: 0 }, stream_mode: ["updates"] };
  const created = await post(`/threads/${id}/runs`, { ...body, stream_resumable: true });
  const { run_id } = (await created.json()) as { run_id: string };
  const text = await (await get(`/threads/${id}/runs/${run_id}/stream?stream_mode=`)).text();
  expect(text.match(/^event: updates$/gm)).toHaveLength(3);
  const headers = { "Last-Event-ID": "-" };
  const thread = await api(`${agent}/threads/${id}/stream?stream_mode=`, {
    key: ours.editor,
    headers,
  });
  expect(thread.status).toBe(200);
  await thread.body?.cancel();
});

describe("a value nested too deep for its readers is refused", () => {
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const send = (path: string, body: string) => {
    const headers = { "Content-Type": "application/json" };
    return api(`${agent}${path}`, { key: ours.editor, method: "POST", headers, body });
  };

  test.each([
    ["metadata", "/threads", `{"metadata": {"a": ${deep}}}`],
    [
      "a run's config",
      "/runs",
      `{"assistant_id": "echo", "config": {"configurable": {"a": ${deep}}}}`,
    ],
    ["a run's input", "/runs/wait", `{"assistant_id": "echo", "input": ${deep}}`],
    ["values of a state", `/threads/${missing}/state`, `{"values": ${deep}}`],
  ])("%s", async (_what, path, body) => {
    const response = await send(path, body);
    expect([response.status, await response.text()]).toEqual([
      422,
      expect.stringMatching(/nested/),
    ]);
  });
});

test("what a thread keeps of many requests has a limit", async () => {
  const id = await newThread();
  const part = "x".repeat(100_000);
  const patch = (key: string) =>
    api(`${agent}/threads/${id}`, {
      key: ours.editor,
      method: "PATCH",
      json: { metadata: { [key]: part } },
    });
  expect([(await patch("a")).status, (await patch("b")).status]).toEqual([200, 200]);
  const third = await patch("c");
  expect([third.status, await third.text()]).toEqual([422, expect.stringContaining("metadata")]);
  expect((await patch("a")).status).toBe(200);

  const other = await newThread();
  const run = (key: string) => {
    const config = { configurable: { [key]: part } };
    return post(`/threads/${other}/runs/wait`, { assistant_id: "echo", input: hi, config });
  };
  for (const key of ["a", "b"]) await (await run(key)).text();
  const refused = await run("c");
  expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining("config")]);
  expect(await (await run("a")).json()).toMatchObject({ messages: expect.any(Array) });
});

test("ids are read in either case", async () => {
  const id = crypto.randomUUID();
  expect(await (await post("/threads", { thread_id: id.toUpperCase() })).json()).toMatchObject({
    thread_id: id,
  });
  expect((await get(`/threads/${id.toUpperCase()}`)).status).toBe(200);
  const upper = agent.replace("/agents/", "").toUpperCase();
  expect((await api(`/agents/${upper}/threads/${id}`, { key: ours.viewer })).status).toBe(200);
});

test("who may only read cannot cancel a run by leaving it", async () => {
  const id = await newThread();
  const created = await post(`/threads/${id}/runs`, { assistant_id: "echo", input: hi });
  const { run_id } = (await created.json()) as { run_id: string };
  const run = `/threads/${id}/runs/${run_id}`;
  for (const path of [`${run}/join`, `${run}/stream`, `/runs/${run_id}/stream`]) {
    expect((await get(`${path}?cancel_on_disconnect=1`)).status).toBe(403);
  }
  const join = await get(`${run}/join?cancel_on_disconnect=0`);
  expect([join.status, await join.json()]).toEqual([200, expect.anything()]);
});

describe("no other caller gets access", () => {
  const calls: [string, string, unknown][] = [
    ["GET", "/ok", undefined],
    ["GET", "/info", undefined],
    ["POST", "/threads", {}],
    ["GET", "/threads/{id}", undefined],
    ["PATCH", "/threads/{id}", { metadata: {} }],
    ["DELETE", "/threads/{id}", undefined],
    ["GET", "/threads/{id}/state", undefined],
    ["POST", "/threads/{id}/state", { values: {} }],
    ["POST", "/threads/{id}/history", {}],
    ["POST", "/threads/{id}/runs", { assistant_id: "echo" }],
    ["POST", "/threads/{id}/runs/wait", { assistant_id: "echo" }],
    ["POST", "/threads/{id}/runs/stream", { assistant_id: "echo" }],
    ["GET", "/threads/{id}/runs", undefined],
    ["GET", `/threads/{id}/runs/${missing}`, undefined],
    ["DELETE", `/threads/{id}/runs/${missing}`, undefined],
    ["POST", `/threads/{id}/runs/${missing}/cancel`, {}],
    ["GET", `/threads/{id}/runs/${missing}/join`, undefined],
    ["GET", `/threads/{id}/runs/${missing}/stream`, undefined],
    ["POST", "/runs", { assistant_id: "echo" }],
    ["POST", "/runs/wait", { assistant_id: "echo" }],
    ["POST", "/runs/stream", { assistant_id: "echo" }],
    ["GET", `/runs/${missing}/stream`, undefined],
  ];
  test.each(calls)("%s %s", async (method, path, json) => {
    const url = `${agent}${path.replace("{id}", await newThread())}`;
    const call = { method, ...(json === undefined ? {} : { json }) };
    expect((await api(url, call)).status).toBe(401);
    expect((await api(url, { ...call, key: "lsv2_sk_forged" })).status).toBe(401);
    const foreign = await api(url, { ...call, key: theirs.admin });
    expect([foreign.status, await foreign.text()]).toEqual([
      404,
      expect.stringMatching(/^Deployment/),
    ]);
    const reads = method === "GET" || path.endsWith("/history");
    if (!reads) expect((await api(url, { ...call, key: ours.viewer })).status).toBe(403);
  });
});

test("a stream is joined after a checkpoint, of a thread and without one", async () => {
  const body = { assistant_id: "steps", input: {}, stream_mode: ["updates", "checkpoints"] };
  const kept = { ...body, on_completion: "keep" };
  const { run_id } = await (await post("/runs", kept)).json<{ run_id: string }>();
  await (await get(`/runs/${run_id}/stream`)).text();
  const history = await post(`/threads/${run_id}/history`, { limit: 10 });
  const states = await history.json<{ next: string[]; checkpoint: { checkpoint_id: string } }[]>();
  const id = states.find(({ next }) => next[0] === "c")?.checkpoint.checkpoint_id;
  for (const path of [`/runs/${run_id}`, `/threads/${run_id}/runs/${run_id}`]) {
    const text = await (await get(`${path}/stream?checkpoint_id=${id}`)).text();
    expect(text.match(/^event: .*$/gm)).toEqual(["event: updates", "event: checkpoints"]);
    expect(text).toContain('data: {"c":{"log":["c"]}}');
  }
});
