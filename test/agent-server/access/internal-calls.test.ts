import { beforeAll, describe, expect, test } from "vitest";
import { testDeployment } from "../../support/agent-deployment.ts";
import { answerOf } from "../../support/agent-users.ts";
import { type TestWorkspace, workspace } from "../../support/workspace.ts";

/** Occurs in the victim's resources and nowhere else. */
const MARKER = `marker-${crypto.randomUUID()}`;
const EVIL = {
  http: { app: "./src/app.ts:app", enable_custom_route_auth: false, mount_prefix: "/below" },
};

type Agent = { deployment_id: string; revision_id: string };

let victim: TestWorkspace & Agent & { thread_id: string };
let attacker: TestWorkspace & Agent;

beforeAll(async () => {
  const [ours, theirs] = await Promise.all([workspace(), workspace()]);
  attacker = { ...theirs, ...(await testDeployment(theirs.workspace_id, EVIL)) };
  const agent = await testDeployment(ours.workspace_id);
  const base = `/agents/${agent.deployment_id}`;
  const metadata = { marker: MARKER };
  const made = await answerOf(`${base}/threads`, { key: ours.admin, json: { metadata } });
  const { thread_id } = made.json as { thread_id: string };
  const item = { namespace: [MARKER], key: "secret", value: metadata };
  await answerOf(`${base}/store/items`, { key: ours.admin, method: "PUT", json: item });
  victim = { ...ours, ...agent, thread_id };
});

/** Every spelling of a URL that leads to the attacker's own agent. */
function spellings({ deployment_id, revision_id }: Agent): Record<string, string> {
  const plain = `/agents/${deployment_id}`;
  const bases: Record<string, string> = {
    plain,
    "an encoded first letter": `/%61gents/${deployment_id}`,
    "an encoded second letter": `/a%67ents/${deployment_id}`,
    "an encoded id": `/agents/%${deployment_id.charCodeAt(0).toString(16)}${deployment_id.slice(1)}`,
    "/api-host": `/api-host${plain}`,
    "/api-host and an encoded letter": `/api-host/%61gents/${deployment_id}`,
    "an encoded /api-host": `/%61pi-host${plain}`,
    "a dot segment": `/v2/%2e%2e${plain}`,
    "a revision": `${plain}/revisions/${revision_id}`,
    "a revision after an encoded letter": `/%61gents/${deployment_id}/revisions/${revision_id}`,
    "its own host": `https://test-${deployment_id}.agents.test`,
  };
  const mounted = Object.entries(bases).map(([name, base]) => [
    `${name}, below mount_prefix`,
    `${base}/below`,
  ]);
  return { ...bases, ...Object.fromEntries(mounted) };
}

/** URLs that the attacker's code calls to leave its own agent server. */
function targets() {
  const theirs = `/agents/${victim.deployment_id}`;
  const search = { method: "POST", body: {} };
  const search_paths = [
    `${theirs}/threads/search`,
    `/%61gents/${victim.deployment_id}/threads/search`,
    `/api-host${theirs}/threads/search`,
    `/../..${theirs}/threads/search`,
    `/%2e%2e/%2e%2e${theirs}/threads/search`,
    `/..%2f..%2fagents%2f${victim.deployment_id}%2fthreads%2fsearch`,
    `/${theirs}/threads/search`,
    `/revisions/../..${theirs}/threads/search`,
    `/revisions/x/../../../..${theirs}/threads/search`,
    `/revisions/${victim.revision_id}/threads/search`,
  ];
  return [
    ...search_paths.map((path) => ({ path, ...search })),
    { path: `${theirs}/store/items/search`, method: "POST", body: { namespace_prefix: [MARKER] } },
    { path: `${theirs}/threads/${victim.thread_id}`, method: "DELETE" },
    { path: `${theirs}/runs/wait`, method: "POST", body: { assistant_id: "echo", input: {} } },
    { path: "/v2/deployments", method: "GET" },
    { path: "/api-host/v2/deployments", method: "GET" },
    { path: `/v2/deployments/${victim.deployment_id}`, method: "GET" },
    { path: "/openapi.json/../../../v2/deployments", method: "GET" },
  ];
}

type Reached = { status: number; text: string };

async function reach(base: string, key: string | undefined, call: object): Promise<Reached> {
  const answer = await answerOf(`${base}/custom/reach`, { ...(key && { key }), json: [call] });
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  const [reached] = answer.json as [Reached];
  return reached;
}

const names = Object.keys(spellings({ deployment_id: "0", revision_id: "0" }));
const cases = names.flatMap((name) =>
  (["client", "builtin"] as const).map((by) => [name, by] as const),
);

describe.each(cases)("an agent called by %s, with its %s", (name, by) => {
  test("reaches no other deployment and no route of the control plane", async () => {
    const base = spellings(attacker)[name] ?? "";
    const keys = [undefined, attacker.admin, attacker.viewer];
    const calls = keys.flatMap((key) => targets().map((target) => ({ key, ...target })));
    // Below its own server, an anonymous caller of the routes behind the app needs a key first.
    const refused = by === "builtin" ? /^40[14]$/ : /^404$/;
    for (const { key, path, ...sent } of calls) {
      const { status, text } = await reach(base, key, { by, url: `https://x${path}`, ...sent });
      expect(String(status), path).toMatch(refused);
      expect(text).not.toContain(MARKER);
    }
  });

  test("reaches its own threads", async () => {
    const base = spellings(attacker)[name] ?? "";
    const key = by === "client" ? undefined : attacker.admin;
    const call = { by, url: "https://x/threads", method: "POST", body: {} };
    expect(await reach(base, key, call)).toMatchObject({ status: 200 });
  });
});

test("the victim's thread and item are unchanged", async () => {
  const base = `/agents/${victim.deployment_id}`;
  const { json } = await answerOf(`${base}/threads/search`, { key: victim.admin, json: {} });
  expect(json).toEqual([
    expect.objectContaining({ thread_id: victim.thread_id, metadata: { marker: MARKER } }),
  ]);
});
