import { beforeAll, describe, expect, test } from "vitest";
import { testDeployment } from "../../support/agent-deployment.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";
import { person, provider, tokenOf } from "./support.ts";

type Answer = { status: number; answer: Record<string, unknown> };

let ours: TestWorkspace;
let idp: string;
let agent: string;
beforeAll(async () => {
  ours = await workspace();
  idp = await provider(ours.editor);
  agent = `/agents/${(await testDeployment(ours.workspace_id)).deployment_id}`;
});

async function ada() {
  const { user_id, key } = await person(ours, "editor");
  return { key, owner: `user:${user_id}`, user_id };
}

/** Returns the answer to an agent that requests a token in a run of the caller. */
async function tokenAnswer(key: string, body: Record<string, unknown>, fields: object = {}) {
  const response = await api(`${agent}/runs/wait`, {
    key,
    json: {
      assistant_id: "signs_in_plainly",
      input: { body: { provider: idp, scopes: ["repo"], ...body } },
      ...fields,
    },
  });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.stringContaining("answer")]);
  return JSON.parse(text) as Answer;
}

describe("an agent", () => {
  test("gets the token of the one whose run it is", async () => {
    const [one, two] = [await ada(), await ada()];
    const id = await tokenOf(ours, one.owner, idp);
    expect(await tokenAnswer(one.key, {})).toMatchObject({
      status: 200,
      answer: { status: "completed", token: `access-${id}`, user_id: one.user_id },
    });
    expect(JSON.stringify(await tokenAnswer(one.key, {}))).not.toContain("refresh-");
    expect(await tokenAnswer(two.key, {})).toMatchObject({
      status: 200,
      answer: {
        status: "pending",
        token: null,
        url: expect.stringContaining("redirect_uri=https"),
      },
    });
  });

  test("gets only its own by naming a user, a token or another agent", async () => {
    const [one, two] = [await ada(), await ada()];
    const token_id = await tokenOf(ours, one.owner, idp);
    await tokenOf(ours, one.owner, idp, { subject: "customer" });
    const of = async (key: string, body: object) => (await tokenAnswer(key, { ...body })).status;
    expect(await of(two.key, { user_id: one.user_id })).toBe(403);
    expect(await of(two.key, { ls_user_id: one.user_id })).toBe(403);
    expect(await of(two.key, { token_id })).toBe(404);
    expect(await of(one.key, { user_id: "customer" })).toBe(403);
    expect(await of(one.key, { agent_id: "another" })).toBe(403);
    expect(await of(one.key, { agent_id: "signs_in_plainly" })).toBe(200);
    expect(await of(one.key, { scopes: "repo" })).toBe(422);
    expect(await of(one.key, { provider: "unknown" })).toBe(404);
  });

  test("acts for the user that the run's configurable names, among those of the run's owner", async () => {
    const [one, two] = [await ada(), await ada()];
    const id = await tokenOf(ours, one.owner, idp, { subject: "customer" });
    const config = { configurable: { user_id: "customer" } };
    const given = async (key: string) => (await tokenAnswer(key, {}, { config })).answer.token;
    expect(await given(one.key)).toBe(`access-${id}`);
    expect(await given(two.key)).toBeNull();
    const named = await tokenAnswer(one.key, { user_id: "customer" }, { config });
    expect(named.answer.token).toBe(`access-${id}`);
  });

  test("reaches no other operation that way", async () => {
    const { key } = await ada();
    const json = { assistant_id: "signs_in_plainly", input: { path: "/v2/auth/tokens" } };
    const response = await api(`${agent}/runs/wait`, { key, json });
    expect(await response.json()).toMatchObject({ status: 404 });
  });

  test("learns that the provider is down", async () => {
    const { key, owner } = await ada();
    const past = new Date(Date.now() - 1000).toISOString();
    await tokenOf(ours, owner, idp, { grant: { expires_at: past, refresh_at: past } });
    expect((await tokenAnswer(key, {})).status).toBe(503);
  });
});

test("a graph interrupts with the consent URL, and continues with the token", async () => {
  const { key, owner } = await ada();
  const thread = await api(`${agent}/threads`, { key, json: {} });
  const { thread_id } = await thread.json<{ thread_id: string }>();
  const runs = `${agent}/threads/${thread_id}/runs/wait`;
  const body = { provider: idp, scopes: ["repo"] };
  await (await api(runs, { key, json: { assistant_id: "signs_in", input: { body } } })).text();
  const state = await (await api(`${agent}/threads/${thread_id}`, { key })).json();
  expect(state).toMatchObject({ status: "interrupted" });
  expect(JSON.stringify(state)).toContain(
    encodeURIComponent(`https://heddle.test/v2/auth/callback/${idp}`),
  );
  const id = await tokenOf(ours, owner, idp);
  const json = { assistant_id: "signs_in", command: { resume: true } };
  const ended = await api(runs, { key, json });
  expect(await ended.json()).toMatchObject({ token: `access-${id}` });
});

test("a run does not show its principal", async () => {
  const { key } = await ada();
  const thread = await api(`${agent}/threads`, { key, json: {} });
  const { thread_id } = await thread.json<{ thread_id: string }>();
  const json = { assistant_id: "echo", input: { messages: [] } };
  const run = await (await api(`${agent}/threads/${thread_id}/runs`, { key, json })).json();
  expect(Object.keys(run as object)).not.toContain("created_by");
});
