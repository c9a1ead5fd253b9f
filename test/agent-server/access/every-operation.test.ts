import { beforeAll, expect, test } from "vitest";
import type { Operation } from "../../../scripts/fuzz/document.ts";
import { agentWithUsers, type UserCall } from "../../support/agent-users.ts";
import { urlOf } from "../../support/belongings.ts";
import { operations, sampleBodyOf } from "../../support/operations.ts";

/** Operations without user data in the response. All others call the agent's handlers. */
const WITHOUT_AUTH = ["agentOk", "agentInfo", "getUi", "getUiFile"];
/** Operations that create a resource of the caller. */
const CREATING = [
  "createThread",
  "createAssistant",
  "createThreadlessRun",
  "streamThreadlessRun",
  "waitThreadlessRun",
  "createRunBatch",
  "createCron",
];
/** Operations that filter their result. Another user gets the empty result. */
const EMPTY_RESULTS: Record<string, string> = {
  searchThreads: "[]",
  countThreads: "0",
  countThreadsByStatus: JSON.stringify({ idle: 0, busy: 0, interrupted: 0, error: 0 }),
  pruneThreads: '{"pruned_count":0}',
  searchAssistants: "[]",
  countAssistants: "0",
  searchCrons: "[]",
  countCrons: "0",
  callMcp: '{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}',
};

const agentOperations = operations.filter(
  ({ id, path }) => path.startsWith("/agents/") && !WITHOUT_AUTH.includes(id),
);
const cases = agentOperations.map((operation) => [operation.id, operation] as const);

let ids: Record<string, string>;
let base: string;
let anna: UserCall;
let bob: UserCall;
let refusedUser: UserCall;

beforeAll(async () => {
  const agent = await agentWithUsers();
  base = agent.base;
  [anna, bob, refusedUser] = [agent.as("anna"), agent.as("bob"), agent.as("nobody")];
  const { deployment_id } = agent;
  const { thread_id = "" } = await createAsAnna("/threads", {});
  const run = { assistant_id: "echo", after_seconds: 3600, input: {} };
  const { run_id = "" } = await createAsAnna(`/threads/${thread_id}/runs`, run);
  const { assistant_id = "" } = await createAsAnna("/assistants", { graph_id: "echo" });
  const yearly = { assistant_id: "echo", schedule: "0 0 29 2 *" };
  const { cron_id = "" } = await createAsAnna(`/threads/${thread_id}/runs/crons`, yearly);
  const item = { namespace: ["anna"], key: "secret", value: { text: "of anna" } };
  expect((await anna("/store/items", { method: "PUT", json: item })).status).toBe(204);
  ids = { deployment_id, thread_id, agent_run_id: run_id, assistant_id, cron_id };
  ids = { ...ids, namespace: "inner", checkpoint_id: crypto.randomUUID(), key: "secret" };
});

async function createAsAnna(path: string, json: unknown): Promise<Record<string, string>> {
  const answer = await anna(path, { json });
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  return answer.json as Record<string, string>;
}

/** Bodies that refer to Anna's resources; minimal bodies for the others. */
function bodyOf(operation: Operation): unknown {
  const { thread_id, agent_run_id } = ids;
  const namespace = ["anna"];
  const bodies: Record<string, unknown> = {
    createRunBatch: [{ assistant_id: "echo", after_seconds: 3600 }],
    cancelRuns: { thread_id, run_ids: [agent_run_id] },
    pruneThreads: { thread_ids: [thread_id] },
    putStoreItem: { namespace, key: "secret", value: {} },
    deleteStoreItem: { namespace, key: "secret" },
    queryStoreItems: { namespace_prefix: namespace },
    listStoreNamespaces: { prefix: namespace },
    callA2a: {
      jsonrpc: "2.0",
      id: 1,
      method: "message/send",
      params: {
        message: {
          kind: "message",
          messageId: "m",
          role: "user",
          contextId: thread_id,
          parts: [{ kind: "data", data: {} }],
        },
      },
    },
    callMcp: { jsonrpc: "2.0", id: 1, method: "tools/list" },
    createThreadlessRun: { assistant_id: "echo", after_seconds: 3600 },
    streamThreadlessRun: { assistant_id: "echo", input: { messages: [] } },
    waitThreadlessRun: { assistant_id: "echo", input: { messages: [] } },
    createRun: { assistant_id: "echo" },
    sendThreadCommand: { id: 1, method: "run.start", params: { assistant_id: "echo" } },
    streamThreadEvents: { channels: ["values"] },
    streamRun: { assistant_id: "echo" },
    waitRun: { assistant_id: "echo" },
    createAssistant: { graph_id: "echo" },
    createCron: { assistant_id: "echo", schedule: "0 0 29 2 *" },
    createThreadCron: { assistant_id: "echo", schedule: "0 0 29 2 *" },
  };
  return bodies[operation.id] ?? sampleBodyOf(operation);
}

function callAs(user: UserCall, operation: Operation) {
  const json = bodyOf(operation);
  const path = urlOf(operation, ids).slice(base.length);
  const separator = path.includes("?") ? "&" : "?";
  const requiredQueries = {
    getStoreItem: "namespace=anna",
    getAgentCard: `assistant_id=${ids.assistant_id}`,
  };
  const extraQuery = Object.entries(requiredQueries).find(([id]) => id === operation.id)?.[1];
  const query = extraQuery === undefined ? "" : separator + extraQuery;
  const headers = { Accept: "application/json, text/event-stream" };
  const { method } = operation;
  return user(path + query, { method, headers, ...(json === undefined ? {} : { json }) });
}

test.each(cases)(
  "%s calls the agent's handlers and respects their refusal",
  async (_, operation) => {
    const { status, text } = await callAs(refusedUser, operation);
    expect([status, text]).toEqual([403, "Forbidden"]);
  },
);

const casesOnAnnasResources = cases.filter(([id]) => !CREATING.includes(id));

test.each(casesOnAnnasResources)("%s returns nothing of another user", async (id, operation) => {
  const { status, text } = await callAs(bob, operation);
  const emptyResult = EMPTY_RESULTS[id];
  if (emptyResult !== undefined) expect([status, text]).toEqual([200, emptyResult]);
  else expect([403, 404, 409], text).toContain(status);
  expect(text).not.toMatch(/of anna|"anna"/);
});

// Runs after the calls above.
test("no operation of another user changed what Anna has", async () => {
  const { thread_id, agent_run_id, assistant_id, cron_id } = ids;
  const run = await anna(`/threads/${thread_id}/runs/${agent_run_id}`);
  expect(run.json).toMatchObject({ status: "pending" });
  const thread = await anna(`/threads/${thread_id}`);
  expect(thread.json).toMatchObject({ metadata: { owner: "anna" } });
  expect((await anna(`/threads/${thread_id}/runs`)).json).toHaveLength(1);
  const assistant = await anna(`/assistants/${assistant_id}`);
  expect(assistant.json).toMatchObject({ version: 1, metadata: { owner: "anna" } });
  const cron = await anna(`/runs/crons/${cron_id}`);
  expect(cron.json).toMatchObject({ schedule: "0 0 29 2 *", user_id: "anna" });
  const item = await anna("/store/items?namespace=anna&key=secret");
  expect(item.json).toMatchObject({ value: { text: "of anna" } });
});
