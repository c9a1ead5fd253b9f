import { beforeAll, expect, test } from "vitest";
import type { Operation } from "../../../scripts/fuzz/document.ts";
import { agentWithUsers, type UserCall } from "../../support/agent-users.ts";
import { urlOf } from "../../support/belongings.ts";
import { operations, sampleBodyOf } from "../../support/operations.ts";

/** Operations without user data in the response. All others call the agent's handlers. */
const UNASKED = ["agentOk", "agentInfo", "getUi", "getUiFile"];
/** Operations that create a resource of the caller. */
const MAKING = [
  "createThread",
  "createAssistant",
  "createThreadlessRun",
  "streamThreadlessRun",
  "waitThreadlessRun",
  "createRunBatch",
  "createCron",
];
/** Lists of what the caller may see: nothing of others is in them, and no count counts it. */
const LISTING: Record<string, string> = {
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

const ofAgents = operations.filter(
  ({ id, path }) => path.startsWith("/agents/") && !UNASKED.includes(id),
);
const named = ofAgents.map((operation) => [operation.id, operation] as const);

let ids: Record<string, string>;
let base: string;
let anna: UserCall;
let bob: UserCall;
let anonymous: UserCall;

beforeAll(async () => {
  const agent = await agentWithUsers();
  base = agent.base;
  [anna, bob, anonymous] = [agent.as("anna"), agent.as("bob"), agent.as("nobody")];
  const { deployment_id } = agent;
  const { thread_id = "" } = await made("/threads", {});
  const run = { assistant_id: "echo", after_seconds: 3600, input: {} };
  const { run_id = "" } = await made(`/threads/${thread_id}/runs`, run);
  const { assistant_id = "" } = await made("/assistants", { graph_id: "echo" });
  const yearly = { assistant_id: "echo", schedule: "0 0 29 2 *" };
  const { cron_id = "" } = await made(`/threads/${thread_id}/runs/crons`, yearly);
  const item = { namespace: ["anna"], key: "secret", value: { text: "of anna" } };
  expect((await anna("/store/items", { method: "PUT", json: item })).status).toBe(204);
  ids = { deployment_id, thread_id, agent_run_id: run_id, assistant_id, cron_id };
  ids = { ...ids, namespace: "inner", checkpoint_id: crypto.randomUUID(), key: "secret" };
});

async function made(path: string, json: unknown): Promise<Record<string, string>> {
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
  const more = { getStoreItem: "namespace=anna", getAgentCard: `assistant_id=${ids.assistant_id}` };
  const body = Object.entries(more).find(([id]) => id === operation.id)?.[1];
  const query = body === undefined ? "" : separator + body;
  const headers = { Accept: "application/json, text/event-stream" };
  const { method } = operation;
  return user(path + query, { method, headers, ...(json === undefined ? {} : { json }) });
}

test.each(named)(
  "%s calls the agent's handlers and respects their refusal",
  async (_, operation) => {
    const { status, text } = await callAs(anonymous, operation);
    expect([status, text]).toEqual([403, "Forbidden"]);
  },
);

const reaching = named.filter(([id]) => !MAKING.includes(id));

test.each(reaching)("%s has nothing of Anna's for Bob", async (id, operation) => {
  const { status, text } = await callAs(bob, operation);
  const listed = LISTING[id];
  if (listed !== undefined) expect([status, text]).toEqual([200, listed]);
  else expect([403, 404, 409], text).toContain(status);
  expect(text).not.toMatch(/of anna|"anna"/);
});

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
