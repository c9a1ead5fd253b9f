import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { sweepAssistants } from "../../../src/agent-server/threads/api/assistants/assistant-purge.ts";
import { insertVersion } from "../../../src/agent-server/threads/api/assistants/assistant-rows.ts";
import {
  assistant_versions,
  assistants,
} from "../../../src/agent-server/threads/api/assistants/table.ts";
import { systemAssistantId } from "../../../src/agent-server/threads/contract/assistant-ids.ts";
import { database } from "../../../src/shared/context.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { systemContext } from "../../support/deployment.ts";
import { directoryRows } from "../../support/directory.ts";
import { eventually } from "../../support/eventually.ts";
import { TEST_GRAPHS } from "../../support/test-graphs.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Assistant = {
  assistant_id: string;
  graph_id: string;
  version: number;
  name: string;
  description: string | null;
  config: Record<string, unknown>;
  context: unknown;
  metadata: Record<string, unknown>;
  created_at: string;
  updated_at: string;
};

const missing = "01900000-0000-7000-8000-000000000000";

let ours: TestWorkspace;
let agent: string;
let deployment_id: string;

beforeAll(async () => {
  ours = await workspace();
  ({ deployment_id } = await testDeployment(ours.workspace_id));
  agent = `/agents/${deployment_id}`;
});

const send = (method: string, path: string, json?: unknown) =>
  api(`${agent}${path}`, { key: ours.editor, method, ...(json === undefined ? {} : { json }) });
const read = async <T>(response: Response | Promise<Response>): Promise<T> => {
  const answer = await response;
  expect(answer.status, answer.ok ? "" : await answer.clone().text()).toBeLessThan(300);
  return answer.json() as Promise<T>;
};
const create = (body: Record<string, unknown> = {}) =>
  read<Assistant>(send("POST", "/assistants", { graph_id: "echo", ...body }));
const search = (body: Record<string, unknown>) =>
  read<Assistant[]>(send("POST", "/assistants/search", body));
const refusal = async (response: Promise<Response>) => {
  const { status } = await response;
  return [status, await (await response).text()];
};

/** Used by this test only. */
function tag() {
  return { test: crypto.randomUUID() };
}

describe("each graph has an assistant from the start", () => {
  test("with a stable id, which the name of its graph resolves to", async () => {
    const byName = await read<Assistant>(send("GET", "/assistants/echo"));
    expect(byName).toMatchObject({
      assistant_id: systemAssistantId("echo"),
      graph_id: "echo",
      name: "echo",
      version: 1,
      config: {},
      context: {},
      metadata: { created_by: "system" },
    });
    expect(await read(send("GET", `/assistants/${byName.assistant_id}`))).toEqual(byName);
    const listed = await search({ metadata: { created_by: "system" }, limit: 1000 });
    expect(listed.map(({ graph_id }) => graph_id).sort()).toEqual([...TEST_GRAPHS].sort());
  });

  test("also of a revision with more graphs than a statement has parameters", async () => {
    const graphs = Array.from({ length: 120 }, (_, n) => `graph_${n}`);
    const many = await testDeployment(ours.workspace_id, undefined, { graphs });
    const post = async (path: string) => {
      const json = { metadata: { created_by: "system" }, limit: 1000 };
      const url = `/agents/${many.deployment_id}/assistants/${path}`;
      return read<unknown>(api(url, { key: ours.editor, json }));
    };
    expect(await post("search")).toHaveLength(120);
    expect(await post("count")).toBe(120);
  });

  test("it can be changed, and deleting it makes it what it was", async () => {
    const patched = await read<Assistant>(
      send("PATCH", "/assistants/config", { config: { configurable: { tone: "dry" } } }),
    );
    expect(patched).toMatchObject({ version: 2, assistant_id: systemAssistantId("config") });
    const { seen } = await read<{ seen: unknown }>(
      send("POST", "/runs/wait", { assistant_id: "config", input: { n: 1 } }),
    );
    expect(seen).toMatchObject({ tone: "dry" });
    expect((await send("DELETE", "/assistants/config")).status).toBe(204);
    expect(await read(send("GET", "/assistants/config"))).toMatchObject({ version: 1, config: {} });
    expect(await read(send("POST", "/assistants/config/versions", {}))).toHaveLength(1);
  });
});

test("LANGGRAPH_CONFIG in the configuration's env is what graphs' own assistants begin with", async () => {
  const other = await testDeployment(ours.workspace_id);
  const config = { config: { configurable: { tone: "dry" }, context: { model: "large" } } };
  await env.DB.prepare("UPDATE revisions SET config_env = ? WHERE id = ?")
    .bind(JSON.stringify({ LANGGRAPH_CONFIG: JSON.stringify(config) }), other.revision_id)
    .run();
  const path = `/agents/${other.deployment_id}`;
  const shown = await read(api(`${path}/assistants/config`, { key: ours.viewer }));
  expect(shown).toMatchObject({
    config: { configurable: { tone: "dry" } },
    context: { model: "large" },
  });
  const json = { assistant_id: "config", input: { n: 1 } };
  const { seen } = await read<{ seen: object }>(
    api(`${path}/runs/wait`, { key: ours.editor, json }),
  );
  expect(seen).toMatchObject({ tone: "dry" });
});

describe("create", () => {
  test("gives what it was given, with defaults for the rest", async () => {
    const given = {
      graph_id: "steps",
      name: "Weaver",
      description: "weaves",
      config: { tags: ["a"], recursion_limit: 7, configurable: { x: 1 } },
      context: { tone: "dry" },
      metadata: { team: "loom" },
    };
    const made = await create(given);
    expect(made).toEqual({
      ...given,
      assistant_id: expect.any(String),
      version: 1,
      created_at: made.updated_at,
      updated_at: expect.any(String),
    });
    expect(await create()).toMatchObject({ name: "Untitled", description: null, config: {} });
  });

  test("refuses an existing id, or returns the assistant with do_nothing", async () => {
    const { assistant_id } = await create({ name: "first" });
    const again = { graph_id: "echo", assistant_id, name: "second" };
    expect(await refusal(send("POST", "/assistants", again))).toEqual([
      409,
      "Assistant already exists",
    ]);
    const kept = await read(send("POST", "/assistants", { ...again, if_exists: "do_nothing" }));
    expect(kept).toMatchObject({ assistant_id, name: "first" });
    const own = { graph_id: "echo", assistant_id: systemAssistantId("ask") };
    expect((await send("POST", "/assistants", own)).status).toBe(409);
  });

  test("refuses a graph that the deployment does not have, and names those it has", async () => {
    expect(await refusal(send("POST", "/assistants", { graph_id: "loom" }))).toEqual([
      404,
      expect.stringMatching(/Graph "loom" not found.*echo/),
    ]);
  });
});

describe("update", () => {
  test("merges metadata, replaces the rest that is named, and makes a version each time", async () => {
    const made = await create({
      metadata: { a: 1, b: { c: 2 } },
      config: { configurable: { x: 1, y: 2 } },
      name: "before",
    });
    const path = `/assistants/${made.assistant_id}`;
    const second = await read<Assistant>(
      send("PATCH", path, { metadata: { b: { d: 3 } }, config: { configurable: { z: 3 } } }),
    );
    expect(second).toMatchObject({ version: 2, name: "before", graph_id: "echo" });
    expect(second.metadata).toEqual({ a: 1, b: { d: 3 } });
    expect(second.config).toEqual({ configurable: { z: 3 } });
    expect(await read(send("PATCH", path, {}))).toMatchObject({ version: 3 });
    const fourth = await read(send("PATCH", path, { graph_id: "steps", name: "after" }));
    expect(fourth).toMatchObject({ version: 4, graph_id: "steps", name: "after" });
    expect(await read(send("GET", path))).toEqual(fourth);
  });

  test("at once by many leaves a version of each", async () => {
    const { assistant_id } = await create();
    const names = ["a", "b", "c"];
    const path = `/assistants/${assistant_id}`;
    await Promise.all(names.map((name) => read(send("PATCH", path, { metadata: { [name]: 1 } }))));
    const versions = await read<Assistant[]>(send("POST", `${path}/versions`, {}));
    expect(versions.map(({ version }) => version)).toEqual([4, 3, 2, 1]);
    expect(await read(send("GET", path))).toMatchObject({ metadata: { a: 1, b: 1, c: 1 } });
  });
});

describe("versions", () => {
  test("are listed newest first, by page and by metadata", async () => {
    const { assistant_id } = await create({ metadata: { n: 1 } });
    const path = `/assistants/${assistant_id}`;
    for (const n of [2, 3]) await send("PATCH", path, { metadata: { n } });
    const list = (body: object) => read<Assistant[]>(send("POST", `${path}/versions`, body));
    const all = await list({});
    expect(all.map(({ version }) => version)).toEqual([3, 2, 1]);
    expect(all[0]).not.toHaveProperty("updated_at");
    expect(await list({ limit: 1, offset: 1 })).toEqual([all[1]]);
    expect(await list({ metadata: { n: 1 } })).toEqual([all[2]]);
  });

  test("an earlier one becomes the latest whole, and the next update counts on", async () => {
    const first = await create({ name: "one", context: { a: 1 }, config: { tags: ["one"] } });
    const path = `/assistants/${first.assistant_id}`;
    await send("PATCH", path, { graph_id: "steps", name: "two", context: { b: 2 }, config: {} });
    const back = await read<Assistant>(send("POST", `${path}/latest`, { version: 1 }));
    expect(back).toEqual({ ...first, updated_at: expect.any(String) });
    expect(await read(send("PATCH", path, {}))).toMatchObject({ version: 3, name: "one" });
    expect(await refusal(send("POST", `${path}/latest`, { version: 9 }))).toEqual([
      404,
      "Assistant version not found",
    ]);
  });
});

describe("search and count", () => {
  test("by graph, part of the name and metadata, with each other", async () => {
    const mine = tag();
    const a = await create({ name: "Red Loom", metadata: { ...mine, deep: { x: 1, y: [1, 2] } } });
    const b = await create({ graph_id: "steps", name: "blue", metadata: { ...mine, on: true } });
    const ids = async (body: object) =>
      (await search({ metadata: mine, ...body })).map(({ assistant_id }) => assistant_id);
    expect(await ids({})).toEqual([b.assistant_id, a.assistant_id]);
    expect(await ids({ graph_id: "steps" })).toEqual([b.assistant_id]);
    expect(await ids({ name: "LOOM" })).toEqual([a.assistant_id]);
    expect(await ids({ metadata: { ...mine, deep: { x: 1 } } })).toEqual([a.assistant_id]);
    expect(await ids({ metadata: { ...mine, deep: { y: [1, 2] } } })).toEqual([a.assistant_id]);
    expect(await ids({ metadata: { ...mine, deep: { y: [1] } } })).toEqual([]);
    expect(await ids({ metadata: { ...mine, on: 1 } })).toEqual([]);
    expect(await ids({ metadata: { ...mine, on: true } })).toEqual([b.assistant_id]);
    const count = (body: object) => read(send("POST", "/assistants/count", body));
    expect(await count({ metadata: mine })).toBe(2);
    expect(await count({ metadata: mine, name: "blue" })).toBe(1);
    expect(await count({ metadata: mine, graph_id: "ask" })).toBe(0);
  });

  test("metadata's names may hold whatever JSON can", async () => {
    for (const name of ['a"b', "a.b", "a\\b", "a'b", "[0]", "$", "ü", "", "a\nb"]) {
      const metadata = { ...tag(), [name]: { [name]: "x" } };
      const { assistant_id } = await create({ metadata });
      const found = await search({ metadata });
      expect([name, found.map((one) => one.assistant_id)]).toEqual([name, [assistant_id]]);
      expect(await search({ metadata: { ...metadata, [name]: { [name]: "y" } } })).toEqual([]);
    }
  });

  test("in the requested order, in pages with pagination headers", async () => {
    const mine = tag();
    for (const name of ["b", "c", "a"]) await create({ name, metadata: mine });
    const page = (body: object) =>
      send("POST", "/assistants/search", { metadata: mine, sort_by: "name", ...body });
    const first = await page({ sort_order: "asc", limit: 2 });
    expect(first.headers.get("X-Pagination-Next")).toBe("2");
    expect(first.headers.get("X-Pagination-Total")).toBe("3");
    expect(await read(first)).toMatchObject([{ name: "a" }, { name: "b" }]);
    const last = await page({ sort_order: "asc", limit: 2, offset: 2 });
    expect(last.headers.get("X-Pagination-Next")).toBeNull();
    expect(last.headers.get("X-Pagination-Total")).toBe("3");
    expect(await read(last)).toMatchObject([{ name: "c" }]);
    expect(await read(page({}))).toMatchObject([{ name: "c" }, { name: "b" }, { name: "a" }]);
  });

  test("only what is selected is shown", async () => {
    const mine = tag();
    const { assistant_id } = await create({ metadata: mine });
    expect(await search({ metadata: mine, select: ["assistant_id", "version"] })).toEqual([
      { assistant_id, version: 1 },
    ]);
    const wrong = await send("POST", "/assistants/search", { select: ["colour"] });
    expect(await refusal(Promise.resolve(wrong))).toEqual([422, expect.stringMatching(/select/)]);
  });
});

describe("delete", () => {
  const threadOf = async (assistant_id: string) => {
    const { thread_id } = await read<{ thread_id: string }>(send("POST", "/threads", {}));
    const input = { messages: [{ role: "user", content: "hi" }] };
    await read(send("POST", `/threads/${thread_id}/runs/wait`, { assistant_id, input }));
    return thread_id;
  };
  const publishedMetadata = (thread_id: string) =>
    eventually(async () => {
      const rows = await directoryRows(agent.replace("/agents/", ""));
      const row = rows.find((row) => row.thread_id === thread_id);
      expect(row?.metadata.assistant_id).toBeTruthy();
    });

  test("takes the versions and leaves the threads", async () => {
    const { assistant_id } = await create();
    const thread_id = await threadOf(assistant_id);
    expect((await send("DELETE", `/assistants/${assistant_id}`)).status).toBe(204);
    expect(await refusal(send("GET", `/assistants/${assistant_id}`))).toEqual([
      404,
      "Assistant not found",
    ]);
    expect(await refusal(send("POST", `/assistants/${assistant_id}/versions`, {}))).toEqual([
      404,
      `Assistant "${assistant_id}" not found.`,
    ]);
    expect(await refusal(send("POST", "/runs", { assistant_id }))).toEqual([
      404,
      expect.stringMatching(/No assistant found for/),
    ]);
    expect((await send("GET", `/threads/${thread_id}`)).status).toBe(200);
    expect((await send("DELETE", `/assistants/${assistant_id}`)).status).toBe(404);
  });

  test("deletes its threads with delete_threads, and those of no other assistant", async () => {
    const { assistant_id } = await create();
    const [mine, other] = [await threadOf(assistant_id), await threadOf("echo")];
    await publishedMetadata(mine);
    const deleted = await send("DELETE", `/assistants/${assistant_id}?delete_threads=true`);
    expect(deleted.status).toBe(204);
    expect((await send("GET", `/threads/${mine}`)).status).toBe(404);
    expect((await send("GET", `/threads/${other}`)).status).toBe(200);
    expect((await send("GET", `/assistants/${assistant_id}`)).status).toBe(404);
  });

  test("leaves no version to an update that read the assistant before", async () => {
    const { assistant_id } = await create({ graph_id: "echo", name: "Soon gone" });
    const isIts = eq(assistants.assistant_id, assistant_id);
    const [row] = await database(env).select().from(assistants).where(isIts);
    if (!row) throw new Error("There is no row");
    await send("DELETE", `/assistants/${assistant_id}`);
    const ctx = systemContext(ours.workspace_id);
    expect(await insertVersion(ctx, { ...row, version: 2 })).toBe(false);
    const versions = eq(assistant_versions.assistant_id, assistant_id);
    expect(await database(env).$count(assistant_versions, versions)).toBe(0);
  });

  test("a crash in the middle is made good by the sweep", async () => {
    const { assistant_id } = await create();
    const thread_id = await threadOf(assistant_id);
    await publishedMetadata(thread_id);
    const at = new Date().toISOString();
    await env.DB.prepare(
      "UPDATE assistants SET deleted_at = ?1, purge_at = ?1 WHERE assistant_id = ?2",
    )
      .bind(at, assistant_id)
      .run();
    expect((await send("GET", `/assistants/${assistant_id}`)).status).toBe(404);
    for (const _twice of [1, 2]) await sweepAssistants(env, new Date());
    expect((await send("GET", `/threads/${thread_id}`)).status).toBe(404);
    const { results } = await env.DB.prepare("SELECT 1 FROM assistants WHERE assistant_id = ?")
      .bind(assistant_id)
      .all();
    expect(results).toEqual([]);
  });
});

describe("the graph of an assistant", () => {
  type Drawn = { nodes: { id: string }[]; edges: { source: string; target: string }[] };
  const draw = (ref: string, query = "") =>
    read<Drawn>(send("GET", `/assistants/${ref}/graph${query}`));

  test("is drawn as nodes and edges, with subgraphs for xray", async () => {
    const flat = await draw("interrupts_after_a_step");
    expect(flat.nodes.map(({ id }) => id)).toEqual(["__start__", "inner", "after", "__end__"]);
    expect(flat.edges).toContainEqual(
      expect.objectContaining({ source: "inner", target: "after" }),
    );
    for (const query of ["?xray=true", "?xray=1"]) {
      const { nodes } = await draw("interrupts_after_a_step", query);
      expect(nodes.map(({ id }) => id)).toContain("inner:question");
    }
    expect(await draw("interrupts_after_a_step", "?xray=false")).toEqual(flat);
    expect((await send("GET", "/assistants/nested/graph?xray=deep")).status).toBe(422);
    expect((await draw("plain")).nodes.map(({ id }) => id)).toContain("plain");
  });

  test("is the one that the assistant's configuration makes", async () => {
    const { assistant_id } = await create({
      graph_id: "factory",
      config: { configurable: { node: "mine" } },
    });
    expect((await draw(assistant_id)).nodes.map(({ id }) => id)).toContain("mine");
    expect((await draw("factory")).nodes.map(({ id }) => id)).toContain("first");
  });

  test("is the one that a factory makes which calls its own server", async () => {
    const { assistant_id } = await create({
      graph_id: "opens_by_call",
      config: { configurable: { calls_server: true } },
    });
    expect((await draw(assistant_id)).nodes.map(({ id }) => id)).toContain("found_0");
    const schemas = await send("GET", `/assistants/${assistant_id}/schemas`);
    expect(schemas.status).toBe(200);
  });

  test("has schemas: complete from zod, of annotations what the source declares", async () => {
    const typed = await read<Record<string, unknown>>(send("GET", "/assistants/typed/schemas"));
    expect(typed).toMatchObject({
      graph_id: "typed",
      state_schema: {
        type: "object",
        properties: { city: { type: "string" }, days: { type: "integer" } },
      },
      context_schema: { properties: { model: { type: "string" } } },
    });
    expect(typed.config_schema).toEqual(typed.context_schema);
    const steps = await read(send("GET", "/assistants/steps/schemas"));
    expect(steps).toMatchObject({
      input_schema: {
        type: "object",
        properties: {
          delay_ms: { type: "number" },
          log: { type: "array", items: { type: "string" } },
        },
      },
    });
    const echo = await read(send("GET", "/assistants/echo/schemas"));
    expect(echo).toMatchObject({
      state_schema: { properties: { messages: { type: "array", langgraph_type: "messages" } } },
      config_schema: null,
    });
    expect(await read(send("GET", "/assistants/plain/schemas"))).toMatchObject({
      input_schema: null,
    });
  });

  test("has subgraphs with schemas of their own, by namespace", async () => {
    const all = await read(send("GET", "/assistants/nested/subgraphs"));
    expect(all).toMatchObject({ inner: { graph_id: "nested", state_schema: { type: "object" } } });
    expect(await read(send("GET", "/assistants/nested/subgraphs/inner?recurse=true"))).toEqual(all);
    const { state, state_schema } = (all as Record<string, Record<string, unknown>>).inner ?? {};
    expect([state, state]).toEqual([state_schema, expect.objectContaining({ type: "object" })]);
    expect(await read(send("GET", "/assistants/nested/subgraphs/after"))).toEqual({});
    expect(await read(send("GET", "/assistants/echo/subgraphs"))).toEqual({});
    expect((await send("GET", `/assistants/${missing}/graph`)).status).toBe(404);
  });
});

describe("runs by an assistant", () => {
  type Seen = { seen: Record<string, unknown> };
  const run = (assistant_id: string, body: object = {}) =>
    read<Seen>(send("POST", "/runs/wait", { assistant_id, input: { n: 1 }, ...body }));

  test("have its configuration beneath their own", async () => {
    const { assistant_id } = await create({
      graph_id: "config",
      config: { configurable: { tone: "dry", speed: 1 }, tags: ["a"] },
      metadata: { team: "loom", shared: "assistant" },
    });
    const { seen } = await run(assistant_id, { config: { configurable: { speed: 2 } } });
    expect(seen).toMatchObject({ tone: "dry", speed: 2, assistant_id, graph_id: "config" });
    const { thread_id } = await read<{ thread_id: string }>(
      send("POST", "/threads", { metadata: { shared: "thread" } }),
    );
    const made = await read<{ metadata: object; kwargs: { config: object } }>(
      send("POST", `/threads/${thread_id}/runs`, { assistant_id, metadata: { mine: 1 } }),
    );
    expect(made.metadata).toMatchObject({ team: "loom", shared: "thread", mine: 1, assistant_id });
    expect(made.kwargs.config).toMatchObject({ tags: ["a"] });
  });

  test("have the context of its version", async () => {
    const { assistant_id } = await create({ graph_id: "typed", context: { model: "large" } });
    const city = async (body: object = {}) =>
      (
        await read<{ city: string }>(
          send("POST", "/runs/wait", { assistant_id, input: {}, ...body }),
        )
      ).city;
    expect(await city()).toBe("model: large");
    expect(await city({ context: { model: "huge" } })).toBe("model: huge");
    await send("PATCH", `/assistants/${assistant_id}`, { context: { model: "tiny" } });
    expect(await city()).toBe("model: tiny");
    await send("POST", `/assistants/${assistant_id}/latest`, { version: 1 });
    expect(await city()).toBe("model: large");
  });
});

test("assistants of one deployment are nothing to another", async () => {
  const { assistant_id } = await create();
  const other = await testDeployment(ours.workspace_id);
  const path = `/agents/${other.deployment_id}/assistants`;
  expect((await api(`${path}/${assistant_id}`, { key: ours.viewer })).status).toBe(404);
  const found = await api(`${path}/count`, { key: ours.viewer, json: { name: "Untitled" } });
  expect(await found.json()).toBe(0);
});
