import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import type { Operation } from "../scripts/fuzz/document.ts";
import { database } from "../src/shared/context.ts";
import { testDeployment } from "./support/agent-deployment.ts";
import { type Belongings, belongings, rowsOf, urlOf } from "./support/belongings.ts";
import { operationBody } from "./support/operation-bodies.ts";
import { jsonOf, operations } from "./support/operations.ts";
import { createApiKey, revokeApiKey } from "./support/organizations.ts";
import { memberWithSession, signIn } from "./support/sessions.ts";
import { api, type TestWorkspace, workspace } from "./support/workspace.ts";
import { post, wireRun } from "./traces/support/runs.ts";

/** Public operations, each with its reason. `/docs` and `/openapi.json` are public too and are not operations. */
const PUBLIC = {
  ok: "a health check has no key",
  getHealth: "a monitor has no key; the values are of the region and name nobody",
  getRegionMetrics: "a scraper has the token of the operator, which is no key of a workspace",
  info: "clients ask what they may use before they have a key",
  oauthCallback: "a browser comes back from a provider; the state is the proof",
  confirmOAuth: "a browser answers the page of the callback; state and code are the proof",
  oauthSetup: "a browser comes back from a provider; the state is the proof",
  getUiFile: "a page loads scripts without a key, and they are for everybody who sees the page",
  getAttachmentByUrl: "the URL is signed for one attachment, for an hour",
  getSharedTrace: "the token of the link names one trace",
  getSharedRun: "the same",
  getSharedRunV2: "the same",
  listSharedRuns: "the same",
  querySharedRuns: "the same",
  querySharedRunsV2: "the same",
  giveFeedback: "who rates a run has no key; the signed URL names the run and what may be said",
  giveFeedbackByLink: "the same, as a link",
  receiveUpload: "the URL is signed for one upload",
  createSession: "a person signs in with a key in the body",
  deleteSession: "ends the session of the browser that sends it",
  getSignInWays: "the sign-in page asks before there is a session",
  beginSignIn: "a browser is led to the issuer; its cookie keeps the state",
  finishSignIn: "a browser comes back from the issuer; cookie and state are the proof",
  receiveWebhook: "the host signs the event with the integration's secret",
};

/** Changes that a viewer may make: their own connections of agents. */
const OWN = [
  "authenticateOAuth",
  "submitOAuthCallback",
  "deleteOAuthTokens",
  "updateOAuthTokenMetadata",
  "deleteOAuthToken",
  "createAgentConnection",
  "deleteAgentConnection",
  "createPersonalKey",
  "rotatePersonalKey",
  "revokePersonalKey",
];

/** For admins of the organization: a key of one workspace is refused whatever the id. */
const OF_ORGANIZATION = [
  "listServiceKeys",
  "createServiceKey",
  "rotateServiceKey",
  "revokeServiceKey",
  "listOrganizationMembers",
  "updateOrganizationMember",
  "removeOrganizationMember",
];

/** For people who sign in with the issuer: a key is refused whatever the id. */
const OF_PEOPLE = ["listInvitations", "acceptInvitation", "declineInvitation", "leaveOrganization"];

/** Reads with a body. */
const READING = [
  "validateTraceQuery",
  "getTraceRunStats",
  "groupTraceRuns",
  "queryTraceThreads",
  "queryTraces",
  "getTraceThreadsStats",
  "queryTraceRuns",
  "queryTraceRunsV2",
  "listTraceRunChanges",
  "getBulkExportEstimate",
  "listBuildLogs",
  "listAgentLogs",
  "listAgentLogsOfRevision",
  "getThreadStateAtCheckpoint",
  "getThreadHistory",
  "streamThreadEvents",
  "searchAssistants",
  "searchThreads",
  "countThreads",
  "countThreadsByStatus",
  "countAssistants",
  "listAssistantVersions",
  "queryStoreItems",
  "listStoreNamespaces",
  "searchCrons",
  "getUi",
  "countCrons",
];

/** An id in a path that names nothing of a workspace alone: the answer is empty for others. */
const EMPTY_FOR_OTHERS = ["listAgentConnections", "lookUp", "waitForOAuth"];

/** Below their path is a public operation, which refuses a token of 5000 characters. */
const ABOVE_PUBLIC = ["createFeedbackToken", "listFeedbackTokens"];

/** A thread of traces is a text of the client; its project is in the query. */
const THREADS_OF_PROJECTS = ["listThreadTraces", "getTraceThreadStats"];

/** SDKs send runs with other types too; test/traces/ingest.test.ts has what is refused. */
const LENIENT = ["createTraceRun", "ingestRunsBatch", "patchTraceRun"];

/** Callers name agents; an unknown checkpoint has an empty state and an unknown namespace no graphs. */
const FREE_IDS = ["agent_id", "checkpoint_id", "namespace"];

let ours: Belongings;
let theirs: TestWorkspace;
let evil: string;
let revoked: string;
let person: Record<string, string>;
let session: string;
let before: Awaited<ReturnType<typeof rowsOf>>;

beforeAll(async () => {
  [ours, theirs] = await Promise.all([belongings(), workspace()]);
  const app = { http: { app: "./src/app.ts:app" } };
  ({ deployment_id: evil } = await testDeployment(theirs.workspace_id, app));
  revoked = await revokedKey(ours);
  ({ headers: person } = await memberWithSession(theirs, "admin"));
  session = await signIn(ours.admin);
  // The first use of a key is recorded in its row.
  for (const key of [ours.viewer, ours.editor]) await api("/v2/deployments", { key });
  before = await rowsOf(ours.workspace_id);
});

const guarded = operations.filter(({ is_public }) => !is_public);
const named = (list: Operation[]) => list.map((operation) => [operation.id, operation] as const);

const bodyOf = (operation: Operation) => operationBody(operation, ours.ids);

async function revokedKey({ organization_id, workspace_id }: TestWorkspace): Promise<string> {
  const db = database(env);
  const key = { kind: "service", organization_id, workspace_id, role: "admin" } as const;
  const { id: api_key_id, api_key } = await createApiKey(db, key);
  await revokeApiKey(db, { organization_id, api_key_id });
  return api_key;
}

type Sent = {
  key?: string;
  headers?: Record<string, string>;
  tenant?: string;
  url?: string;
  body?: unknown;
};

async function call(
  operation: Operation,
  { key, headers, tenant, url, body = bodyOf(operation) }: Sent,
) {
  const isPatch = operation.id === "patchTraceRun";
  const json = isPatch && body === undefined ? { name: "stolen" } : body;
  const response = await api(url ?? urlOf(operation, ours.ids), {
    method: operation.method,
    headers: { Accept: "application/json, text/event-stream", ...headers },
    ...(key === undefined ? {} : { key }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(json === undefined ? {} : { json }),
  });
  return { status: response.status, text: await response.text() };
}

describe("without credentials", () => {
  test("only what is public by design answers", () => {
    const open = operations.filter(({ is_public }) => is_public).map(({ id }) => id);
    expect(open.sort()).toEqual(Object.keys(PUBLIC).sort());
  });

  test.each(named(guarded))(
    "%s is a 401 to who has no key, a wrong one or a revoked one",
    async (_, operation) => {
      const wrong = ["lsv2_sk_", "lsv2_sk_' OR 1=1 --", "a.b.c", "x".repeat(5000), revoked];
      expect((await call(operation, {})).status).toBe(401);
      for (const key of wrong) expect((await call(operation, { key })).status).toBe(401);
    },
  );

  test.each(named(guarded))(
    "%s is a 401 to a session outside of the console",
    async (_, operation) => {
      const token = session.slice(session.indexOf("=") + 1);
      const senders = [
        { "X-Api-Key": token },
        { Authorization: `Bearer ${token}` },
        { Cookie: session },
        { Cookie: session, "X-Heddle-Console": "1", "Sec-Fetch-Site": "cross-site" },
        { Cookie: session, "Sec-Fetch-Site": "same-origin" },
      ];
      for (const headers of senders) expect((await call(operation, { headers })).status).toBe(401);
    },
  );

  test.each(named(guarded))("%s has no other path around its 401", async (id, operation) => {
    const url = urlOf(operation, ours.ids);
    const refused = ABOVE_PUBLIC.includes(id) ? [401, 404, 422] : [401, 404];
    for (const trick of tricks(url)) {
      const { status } = await call(operation, { url: trick });
      expect(refused, trick).toContain(status);
    }
  });
});

function tricks(url: string): string[] {
  const [path = "", query] = url.split("?");
  const end = query === undefined ? "" : `?${query}`;
  return [
    `//${path.slice(1)}`,
    path.replace(/\/([^/]+)$/, "//$1"),
    `${path}/`,
    path.toUpperCase(),
    `/docs/%2e%2e${path}`,
    `/docs/..%2f${path.slice(1)}`,
    `/ok/..;${path}`,
    `${path}%00`,
    `${path}%2f`,
    `${path}/${"a".repeat(5000)}`,
    `/api-host${path}`,
    `/api-host//${path.slice(1)}`,
    path.replace(/[a-z](?=[a-z]+$)/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  ].map((changed) => changed + end);
}

describe("with a session of another workspace", () => {
  const known = guarded.filter(({ id }) => ![...OF_ORGANIZATION, "listInvitations"].includes(id));

  test.each(named(known))("%s does not know what is ours", async (id, operation) => {
    const { status, text } = await call(operation, { headers: person });
    const isOfOurs = operation.path.includes("{") && !EMPTY_FOR_OTHERS.includes(id);
    if (isOfOurs) expect([status, text]).toEqual([404, expect.any(String)]);
    if (status < 300) expect(text).not.toMatch(new RegExp(secretIds()));
  });

  test.each(named(guarded))("%s is refused where X-Tenant-Id names ours", async (_, operation) => {
    const tenant = ours.workspace_id;
    const { status } = await call(operation, { headers: person, tenant });
    expect([403, 404]).toContain(status);
  });

  test("no invitation of others is listed", async () => {
    const listed = await api("/v1/invitations", { headers: person });
    expect([listed.status, await listed.json()]).toEqual([200, { invitations: [] }]);
  });

  test("nothing of ours was changed", async () => {
    expect(await rowsOf(ours.workspace_id)).toEqual(before);
  });
});

test("a link of another workspace shows nothing of ours", async () => {
  const run = wireRun("theirs");
  await post(theirs.admin, "/api/v1/runs", run);
  const shared = await api(`/api/v1/runs/${run.id}/share`, { key: theirs.admin, method: "PUT" });
  const { share_token } = await shared.json<{ share_token: string }>();
  const ofLinks = operations.filter(({ path }) => path.includes("{share_token}"));
  expect(ofLinks.length).toBeGreaterThan(5);
  for (const operation of ofLinks) {
    const url = urlOf(operation, { ...ours.ids, share_token });
    const { run_id, session_id } = ours.ids;
    const bodies =
      operation.method === "GET"
        ? [undefined]
        : [{}, { id: [run_id] }, { trace: run_id }, { session: [session_id] }];
    for (const body of bodies) {
      const { text } = await call(operation, { url, body });
      expect(text).not.toContain(ours.marker);
    }
  }
});

describe("with a key of another workspace", () => {
  const refusing = [...OF_ORGANIZATION, ...OF_PEOPLE];
  const known = guarded.filter(({ id }) => !refusing.includes(id));
  const organizational = guarded.filter(({ id }) => refusing.includes(id));

  test.each(named(organizational))(
    "%s is for admins of an organization, or for people",
    async (_, operation) => {
      const { status } = await call(operation, { key: theirs.admin });
      expect(status).toBe(403);
    },
  );

  test.each(named(known))("%s does not know what is ours", async (id, operation) => {
    const { status, text } = await call(operation, { key: theirs.admin });
    const isOfOurs = operation.path.includes("{") && !EMPTY_FOR_OTHERS.includes(id);
    if (isOfOurs) expect([status, text]).toEqual([404, expect.any(String)]);
    expect(status).not.toBe(403);
    // The address that discovery is sent to does not answer.
    expect(status).toBeLessThan(id === "discoverOAuthProvider" ? 504 : 500);
    if (status < 300) expect(text).not.toMatch(new RegExp(secretIds()));
  });

  test.each(named(guarded))("%s is refused where X-Tenant-Id names ours", async (_, operation) => {
    const { status } = await call(operation, { key: theirs.admin, tenant: ours.workspace_id });
    expect([403, 404]).toContain(status);
  });

  test.each(named(guarded))("%s is out of reach for the code of an agent", async (_, operation) => {
    for (const { status, text } of await reachByAgent(operation)) {
      expect([401, 404], text).toContain(status);
      expect(text).not.toContain(ours.marker);
    }
  });

  test.each(named(ofAgents))(
    "%s of an agent's own server has nothing of ours",
    async (_, operation) => {
      const own = operation.path.replace(AGENT, "");
      for (const { text } of await reachByAgent({ ...operation, path: own })) {
        expect(text).not.toContain(ours.marker);
      }
    },
  );

  test("nothing of ours was changed", async () => {
    expect(await rowsOf(ours.workspace_id)).toEqual(before);
  });
});

const AGENT = "/agents/{deployment_id}";
const ofAgents = operations.filter(({ path }) => path.startsWith(AGENT));

type Reached = { status: number; text: string };

/** Calls an operation on our ids with both capabilities of the other workspace's agent, as its admin's request. */
async function reachByAgent(operation: Operation): Promise<Reached[]> {
  const url = urlOf(operation, ours.ids);
  const { method } = operation;
  const body = method === "GET" ? undefined : bodyOf(operation);
  const urls = [`https://x${url}`, `https://x/..${url}`, `https://x/api-host${url}`];
  const calls = urls.flatMap((url) =>
    (["client", "builtin"] as const).map((by) => ({ by, url, method, body })),
  );
  const response = await api(`/%61gents/${evil}/custom/reach`, { key: theirs.admin, json: calls });
  return response.json();
}

/** Ids that only answers about our workspace can have; the others were in the question. */
function secretIds(): string {
  const { revision_id, thread_id, feedback_id, token_id } = ours.ids;
  return [ours.workspace_id, revision_id, thread_id, feedback_id, token_id].join("|");
}

describe("a viewer", () => {
  const changing = guarded.filter(
    ({ id, method }) => method !== "GET" && ![...OWN, ...READING, ...OF_PEOPLE].includes(id),
  );

  test.each(named(changing))("%s is not for viewers", async (_, operation) => {
    const { status, text } = await call(operation, { key: ours.viewer });
    expect([status, text]).toEqual([403, expect.stringMatching(/viewer/)]);
  });

  test("changed nothing", async () => {
    expect(await rowsOf(ours.workspace_id)).toEqual(before);
  });
});

describe("odd requests of an admin", () => {
  const withIds = guarded.filter(({ path }) => path.includes("{"));

  /** Each key has its own limit of changes in a minute. */
  const newAdminKey = async () => {
    const { organization_id, workspace_id } = ours;
    const fields = { kind: "service", organization_id, workspace_id, role: "admin" } as const;
    return (await createApiKey(database(env), fields)).api_key;
  };

  const oddIds = ["1", "%00", "' OR 1=1 --", "\u{1f600}", "a".repeat(3000), "null"];

  test.each(named(withIds))("%s refuses ids that are none", async (id, operation) => {
    const key = await newAdminKey();
    const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
    for (const [name, odd] of names.flatMap((name) => oddIds.map((odd) => [name, odd] as const))) {
      const ids = { ...ours.ids, [name]: odd, [name === "run_id" ? "agent_run_id" : name]: odd };
      const url = urlOf(operation, ids);
      const { status, text } = await call(operation, { key, url });
      const isThread = name === "thread_id" && THREADS_OF_PROJECTS.includes(id);
      const isFree = isThread || EMPTY_FOR_OTHERS.includes(id) || FREE_IDS.includes(name);
      const allowed = isFree ? [200, 201, 400, 404, 422] : [400, 404, 422];
      expect(allowed, `${name}=${odd.slice(0, 20)}: ${text}`).toContain(status);
    }
  });

  const withBody = guarded.filter(
    (operation) => jsonOf(operation) !== undefined && !LENIENT.includes(operation.id),
  );
  const bodies: [string, string][] = [
    ["{", "application/json"],
    ["", "application/json"],
    ["[]", "application/json"],
    ["null", "application/json"],
    ['"text"', "application/json"],
    ["7", "application/json"],
    [`${"[".repeat(3000)}${"]".repeat(3000)}`, "application/json"],
    ["{}", "text/plain"],
    ["a=b", "application/x-www-form-urlencoded"],
    ["\u0000", "application/octet-stream"],
  ];

  test.each(named(withBody))("%s refuses bodies that are no JSON object", async (id, operation) => {
    const url = urlOf(operation, ours.ids);
    const key = await newAdminKey();
    for (const [body, type] of bodies) {
      const headers = { "Content-Type": type };
      const { method } = operation;
      const response = await api(url, { key, method, body, headers });
      const text = await response.text();
      const { status } = response;
      expect([id, type, body.slice(0, 20), status, text]).toEqual([
        id,
        type,
        body.slice(0, 20),
        expect.toSatisfy((s: number) => [400, 404, 409, 413, 415, 422].includes(s)),
        text,
      ]);
      expect(Object.keys(operation.responses)).toContain(String(status));
    }
  });
});
