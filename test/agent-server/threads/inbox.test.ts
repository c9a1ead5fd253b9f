import { beforeAll, expect, onTestFinished, test } from "vitest";
import { isAgentReadable } from "../../../src/agent-server/access/service.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { agentWithUsers } from "../../support/agent-users.ts";
import { systemContext } from "../../support/deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { failD1 } from "../../support/outage.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Waiting = {
  threads: {
    deployment_id: string;
    thread_id: string;
    interrupts: Record<string, { value: unknown }[]>;
    waiting_since: string;
  }[];
  total: number;
  next_cursor: string | null;
  withheld_deployments: string[];
};

let ours: TestWorkspace;
let first: string;
let second: string;

beforeAll(async () => {
  ours = await workspace();
  first = (await testDeployment(ours.workspace_id)).deployment_id;
  second = (await testDeployment(ours.workspace_id)).deployment_id;
});

async function post<T>(deployment: string, path: string, json: unknown): Promise<T> {
  const response = await api(`/agents/${deployment}${path}`, { key: ours.editor, json });
  expect(response.status, await response.clone().text()).toBeLessThan(300);
  return response.json<T>();
}

/** Runs a graph that waits at `interrupt()`, and returns the thread. */
async function interrupted(deployment: string): Promise<string> {
  const { thread_id } = await post<{ thread_id: string }>(deployment, "/threads", {});
  const run = { assistant_id: "interrupts_after_a_step", input: {} };
  await post(deployment, `/threads/${thread_id}/runs/wait`, run);
  return thread_id;
}

async function list(query = "", key = ours.viewer): Promise<Waiting> {
  const response = await api(`/v1/interrupts${query}`, { key });
  expect(response.status, await response.clone().text()).toBe(200);
  return response.json<Waiting>();
}

test("interrupted threads of all deployments are one list, until they are resumed", async () => {
  const a = await interrupted(first);
  const b = await interrupted(second);
  await eventually(async () => expect((await list()).total).toBe(2));
  const { threads, ...rest } = await list();
  expect(rest).toEqual({ total: 2, next_cursor: null, withheld_deployments: [] });
  expect(threads.map(({ thread_id }) => thread_id)).toEqual([a, b]);
  expect(threads[0]).toMatchObject({ deployment_id: first });
  expect(Object.values(threads[0]?.interrupts ?? {})).toEqual([
    [expect.objectContaining({ value: "well?" })],
  ]);
  const page = await list("?limit=1");
  expect([page.threads.length, page.total]).toEqual([1, 2]);
  const next = await list(`?limit=1&cursor=${page.next_cursor}`);
  expect(next.threads.map(({ thread_id }) => thread_id)).toEqual([b]);
  expect(next.next_cursor).toBeNull();
  const later = { assistant_id: "echo", input: {}, after_seconds: 3600 };
  await post(second, `/threads/${b}/runs`, later);
  await eventually(async () => expect((await list()).total).toBe(1));
  const resume = { assistant_id: "interrupts_after_a_step", command: { resume: "yes" } };
  await post(first, `/threads/${a}/runs/wait`, resume);
  expect((await list()).threads).toEqual([]);
});

test("threads of an agent that authenticates its own users are withheld", async () => {
  const agent = await agentWithUsers();
  const anna = agent.as("anna");
  const made = await anna("/threads", { json: {} });
  const { thread_id } = made.json as { thread_id: string };
  const run = { assistant_id: "interrupts_after_a_step", input: {} };
  expect((await anna(`/threads/${thread_id}/runs/wait`, { json: run })).status).toBe(200);
  await eventually(async () =>
    expect(await list("", agent.viewer)).toEqual({
      threads: [],
      total: 0,
      next_cursor: null,
      withheld_deployments: [agent.deployment_id],
    }),
  );
});

test("an agent that serves nothing is withheld, and an outage of D1 is an error", async () => {
  const own = await workspace();
  const ctx = systemContext(own.workspace_id);
  const { deployment_id } = await testDeployment(own.workspace_id);
  expect(await isAgentReadable(ctx, crypto.randomUUID())).toBe(false);
  const theirs = await testDeployment((await workspace()).workspace_id);
  expect(await isAgentReadable(ctx, theirs.deployment_id)).toBe(false);
  const recover = failD1();
  onTestFinished(recover);
  await expect(isAgentReadable(ctx, deployment_id)).rejects.toThrow();
  recover();
  expect(await isAgentReadable(ctx, deployment_id)).toBe(true);
});

test("a thread whose run a person stopped is not listed, nor its copy, and one that stops before a node is", async () => {
  const own = await workspace();
  const { deployment_id } = await testDeployment(own.workspace_id);
  const send = async <T>(path: string, json: unknown = {}): Promise<T> => {
    const response = await api(`/agents/${deployment_id}${path}`, { key: own.editor, json });
    const text = await response.text();
    expect(response.status, text).toBeLessThan(300);
    return (text ? JSON.parse(text) : null) as T;
  };
  const newThread = async () => (await send<{ thread_id: string }>("/threads")).thread_id;
  const [stopped, before] = [await newThread(), await newThread()];
  const input = { delay_ms: 60_000 };
  const { run_id } = await send<{ run_id: string }>(`/threads/${stopped}/runs`, {
    ...{ assistant_id: "stalls", input },
  });
  await eventually(async () => {
    const { values } = await send<{ values: object }>(`/threads/${stopped}/state/checkpoint`, {
      checkpoint: {},
    });
    expect(values).toMatchObject({ log: ["a"] });
  });
  await send(`/threads/${stopped}/runs/${run_id}/cancel?wait=true`);
  const breaks = { assistant_id: "steps", input: { delay_ms: 0 }, interrupt_before: ["b"] };
  await send(`/threads/${before}/runs/wait`, breaks);
  const copy = await send<{ thread_id: string }>(`/threads/${stopped}/copy`);
  const search = { ids: [stopped, before, copy.thread_id], status: "interrupted" };
  await eventually(async () => expect(await send("/threads/search", search)).toHaveLength(3));
  const { threads, total } = await list("", own.viewer);
  expect([threads.map(({ thread_id }) => thread_id), total]).toEqual([[before], 1]);
});

test("other workspaces and wrong cursors", async () => {
  await interrupted(first);
  const theirs = await workspace();
  expect(await list("", theirs.admin)).toMatchObject({ threads: [], total: 0 });
  for (const query of ["?cursor=e30", "?limit=0", "?limit=51"]) {
    expect((await api(`/v1/interrupts${query}`, { key: ours.viewer })).status).toBe(422);
  }
});

test("threads are counted by status, as a search finds them", async () => {
  const { deployment_id } = await testDeployment(ours.workspace_id);
  await interrupted(deployment_id);
  await post(deployment_id, "/threads", { metadata: { color: "red" } });
  await post(deployment_id, "/threads", { metadata: { color: "blue" } });
  const count = (json: object) => post(deployment_id, "/threads/count_by_status", json);
  await eventually(async () =>
    expect(await count({})).toEqual({ idle: 2, busy: 0, interrupted: 1, error: 0 }),
  );
  expect(await count({ metadata: { color: "red" } })).toMatchObject({ idle: 1, interrupted: 0 });
});

test("an answered interrupt is pending nowhere, and takes no second answer", async () => {
  type Interrupt = { id: string; value: string };
  const ours = await workspace();
  const { deployment_id } = await testDeployment(ours.workspace_id);
  const send = async <T>(path: string, json?: unknown): Promise<T> => {
    const options = { key: ours.editor, ...(json !== undefined && { json }) };
    return (await api(`/agents/${deployment_id}${path}`, options)).json<T>();
  };
  const { thread_id } = await send<{ thread_id: string }>("/threads", {});
  const T = `/threads/${thread_id}`;
  const wait = (fields: object) =>
    send<{ __interrupt__: Interrupt[] }>(`${T}/runs/wait`, {
      assistant_id: "interrupts_both",
      ...fields,
    });
  const pending = (await wait({ input: {} })).__interrupt__;
  expect(pending.map(({ value }) => value).sort()).toEqual(["left?", "right?"]);
  const left = pending.find(({ value }) => value === "left?")?.id ?? "";
  const answer = { command: { resume: { [left]: "A" } } };
  expect((await wait(answer)).__interrupt__).toMatchObject([{ value: "right?" }]);

  type Waits = { interrupts: Record<string, Interrupt[]> };
  const right = [[expect.objectContaining({ value: "right?" })]];
  expect(Object.values((await send<Waits>(T)).interrupts)).toEqual(right);
  await eventually(async () => {
    const [found] = await send<Waits[]>("/threads/search", { ids: [thread_id] });
    expect(Object.values(found?.interrupts ?? {})).toEqual(right);
    const listed = await list("", ours.viewer);
    expect(listed.threads.map(({ interrupts }) => Object.values(interrupts))).toEqual([right]);
  });
  const head = { interrupts: [{ value: "right?" }] };
  expect(await send(`${T}/state`)).toMatchObject(head);
  expect((await send<object[]>(`${T}/history`, {}))[0]).toMatchObject(head);

  const again = { id: 1, method: "input.respond", params: { interrupt_id: left, response: "B" } };
  expect(await send(`${T}/commands`, again)).toMatchObject({ error: "no_such_interrupt" });
  const refused = await api(`/agents/${deployment_id}${T}/runs/wait`, {
    key: ours.editor,
    json: { assistant_id: "interrupts_both", ...answer },
  });
  expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining(left)]);
});
