import { beforeAll, expect, test } from "vitest";
import { exporter, given, ordered } from "../../exports/support/exports.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { agentWithUsers } from "../../support/agent-users.ts";
import { deploymentRow } from "../../support/deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";
import { batch, wireRun } from "../../traces/support/runs.ts";

const NONE = { matches: [] };

let ours: Awaited<ReturnType<typeof exporter>>;
beforeAll(async () => {
  ours = await exporter();
});

async function lookUp(id: string, key = ours.viewer): Promise<unknown> {
  const response = await api(`/v1/lookup/${id}`, { key });
  expect(response.status, await response.clone().text()).toBe(200);
  return response.json();
}

const match = (kind: string, id: string, of: object = {}) => ({
  matches: [{ kind, id, deployment_id: null, trace_id: null, ...of }],
});

/** Looks an id up as its workspace does, and as another one does, which finds nothing. */
async function expectOwn(id: string, expected: unknown): Promise<void> {
  await eventually(async () => expect(await lookUp(id)).toEqual(expected));
  const theirs: TestWorkspace = await workspace();
  expect(await lookUp(id, theirs.admin)).toEqual(NONE);
}

test("a deployment, its revision and its threads are found by their ids", async () => {
  const { deployment_id, revision_id } = await testDeployment(ours.workspace_id);
  await expectOwn(deployment_id, match("deployment", deployment_id, { deployment_id }));
  await expectOwn(revision_id, match("revision", revision_id, { deployment_id }));
  const json = {};
  const made = await api(`/agents/${deployment_id}/threads`, { key: ours.editor, json });
  const { thread_id } = await made.json<{ thread_id: string }>();
  await expectOwn(thread_id, match("thread", thread_id, { deployment_id }));
  expect(await lookUp(thread_id.toUpperCase())).toEqual(
    match("thread", thread_id, { deployment_id }),
  );
});

test("a deployment is found before its first revision", async () => {
  const { id } = await deploymentRow(ours.workspace_id, { source: "internal_source" });
  await expectOwn(id, match("deployment", id, { deployment_id: id }));
});

test("a trace, a run in it and an export are found by their ids", async () => {
  const root = wireRun("looked up", {});
  const child = wireRun("looked up", {}, { parent: root });
  expect((await batch(ours.editor, [root, child])).status).toBe(202);
  await expectOwn(root.id, match("traced_run", root.id, { trace_id: root.id }));
  await expectOwn(child.id, match("traced_run", child.id, { trace_id: root.id }));
  const day = { start_time: "2026-11-01T00:00:00Z", end_time: "2026-11-02T00:00:00Z" };
  const project = await given(ours, { from: day.start_time, count: 1 });
  const { id } = await ordered(ours, project, day);
  await expectOwn(id, match("bulk_export", id));
});

test("a trace is found whose id, as of OpenTelemetry, is random", async () => {
  const id = `${crypto.randomUUID().slice(0, 14)}0222-0333-444444444444`;
  const root = wireRun("looked up", { id });
  expect((await batch(ours.editor, [root])).status).toBe(202);
  await expectOwn(id, match("traced_run", id, { trace_id: id }));
});

test("threads of an agent that authenticates its own users are not found", async () => {
  const agent = await agentWithUsers();
  const anna = agent.as("anna");
  const { thread_id } = (await anna("/threads", { json: {} })).json as { thread_id: string };
  await eventually(async () =>
    expect((await anna("/threads/search", { json: {} })).json).toMatchObject([{ thread_id }]),
  );
  expect(await lookUp(thread_id, agent.viewer)).toEqual(NONE);
});

test("an unknown id is found nowhere, and text is refused", async () => {
  expect(await lookUp(crypto.randomUUID())).toEqual(NONE);
  const refused = await api("/v1/lookup/refund", { key: ours.viewer });
  expect([refused.status, await refused.text()]).toEqual([
    422,
    expect.stringContaining("resource_id"),
  ]);
});
