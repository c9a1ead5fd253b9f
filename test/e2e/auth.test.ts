import { readFile } from "node:fs/promises";
import { Client } from "@langchain/langgraph-sdk";
import { Client as Client2 } from "langgraph-sdk-2";
import { beforeAll, describe, expect, test } from "vitest";
import { build, deploy, uniqueName } from "./support/deployments.ts";
import { pushRepository } from "./support/repositories.ts";
import { stack } from "./support/stack.ts";
import { agentSources } from "./support/test-agent.ts";

const NAMES = ["echo", "config", "steps", "tokens"];

async function filesOf(auth: unknown, source: string) {
  const graphs = Object.fromEntries(NAMES.map((name) => [name, `./src/graphs.ts:${name}`]));
  return {
    "langgraph.json": JSON.stringify({ graphs, auth }),
    "package.json": await readFile("examples/chat/package.json", "utf8"),
    "package-lock.json": await readFile("examples/chat/package-lock.json", "utf8"),
    ...(await agentSources()),
    "src/auth.ts": source,
  };
}

let agent_url: string;
beforeAll(async () => {
  const source = await readFile("test/fixtures/agents/auth.ts", "utf8");
  const files = await filesOf({ path: "./src/auth.ts:auth" }, source);
  ({ agent_url } = await deploy("auth-agent", files));
});

const optionsOf = (token: string) => ({
  apiUrl: agent_url,
  apiKey: null as unknown as string,
  defaultHeaders: token === "" ? {} : { Authorization: `Bearer ${token}` },
  callerOptions: { maxRetries: 0 },
});

// The two lines of the SDK differ in types, not in the calls made here.
const lines = [
  ["1.15", (token: string) => new Client(optionsOf(token))],
  ["2.0.0", (token: string) => new Client2(optionsOf(token)) as unknown as Client],
] as const;

const input = { messages: [{ role: "human", content: "of anna" }] };

describe.each(lines)("the SDK %s", (line, sdk) => {
  const [me, other] = ["anna", "bob"].map((name) => `${name}-${line.replaceAll(".", "-")}`) as [
    string,
    string,
  ];

  test("each user has threads, runs and assistants of their own", async () => {
    const [anna, bob] = [sdk(me), sdk(other)];
    const { thread_id } = await anna.threads.create({ metadata: { topic: "soup" } });
    await bob.threads.create();
    expect(await anna.threads.search()).toMatchObject([{ metadata: { owner: me } }]);
    expect(await anna.runs.wait(thread_id, "echo", { input })).toMatchObject({
      messages: [{ content: "of anna" }, { content: "echo: of anna" }],
    });
    const own = await anna.assistants.create({ graphId: "echo" });
    expect(await anna.assistants.search()).toMatchObject([{ assistant_id: own.assistant_id }]);
    expect(await bob.assistants.search()).toEqual([]);
    const [run] = await anna.runs.list(thread_id);
    const run_id = run?.run_id ?? "";
    const refused = {
      "HTTP 404": [
        () => bob.threads.get(thread_id),
        () => bob.threads.update(thread_id, { metadata: {} }),
        () => bob.threads.delete(thread_id),
        () => bob.threads.getState(thread_id),
        () => bob.threads.updateState(thread_id, { values: { messages: [] } }),
        () => bob.threads.getHistory(thread_id),
        () => bob.runs.list(thread_id),
        () => bob.runs.get(thread_id, run_id),
        () => bob.runs.join(thread_id, run_id),
        () => bob.runs.joinStream(thread_id, run_id, { lastEventId: "-1" }).next(),
        () => bob.runs.cancel(thread_id, run_id),
        () => bob.runs.delete(thread_id, run_id),
        () => bob.runs.create(thread_id, "echo", { input }),
        () => bob.runs.create(thread_id, "echo", { input, ifNotExists: "create" }),
        () => bob.runs.wait(thread_id, "echo", { input }),
        () => bob.runs.wait(null, own.assistant_id, { input }),
        () => bob.crons.createForThread(thread_id, "echo", { schedule: "0 0 29 2 *" }),
        () => bob.assistants.get(own.assistant_id),
        () => bob.assistants.getGraph(own.assistant_id),
        () => bob.assistants.getVersions(own.assistant_id),
        () => bob.assistants.setLatest(own.assistant_id, 1),
        () => bob.assistants.update(own.assistant_id, { metadata: { foo: "bar" } }),
        () => bob.assistants.delete(own.assistant_id),
      ],
      "HTTP 409": [
        () => bob.threads.copy(thread_id),
        () => bob.threads.create({ threadId: thread_id, ifExists: "do_nothing" }),
      ],
      "HTTP 403": [() => sdk("nobody").threads.create(), () => bob.store.searchItems([me])],
      "HTTP 401": [() => sdk("").threads.create()],
    };
    for (const [status, calls] of Object.entries(refused)) {
      for (const call of calls) await expect(call(), String(call)).rejects.toThrow(status);
    }
    expect(await anna.threads.copy(thread_id)).toMatchObject({ metadata: { owner: me } });
  });

  test("a streamed run has its user, and store and crons are each user's own", async () => {
    const [anna, bob] = [sdk(`${me}:chat`), sdk(other)];
    const seen: unknown[] = [];
    for await (const { data } of anna.runs.stream(null, "config", { input: {} })) seen.push(data);
    expect(seen.at(-1)).toMatchObject({
      seen: { langgraph_auth_user_id: me, langgraph_auth_permissions: ["chat"] },
    });
    await anna.store.putItem([me, "notes"], "soup", { text: "warm" });
    expect((await anna.store.searchItems([me])).items).toMatchObject([{ key: "soup" }]);
    await expect(bob.store.getItem([me, "notes"], "soup")).rejects.toThrow("HTTP 403");
    const yearly = { schedule: "0 0 29 2 *", input };
    const { cron_id } = (await anna.crons.create("echo", yearly)) as { cron_id: string };
    expect(await anna.crons.search()).toMatchObject([{ cron_id, metadata: { owner: me } }]);
    expect(await bob.crons.search()).toEqual([]);
    await expect(bob.crons.delete(cron_id)).rejects.toThrow("HTTP 404");
    await anna.crons.delete(cron_id);
  });
});

test("a key of the workspace opens nothing by itself", async () => {
  const keyed = new Client({ ...optionsOf(""), apiKey: stack.api_key });
  await expect(keyed.threads.search()).rejects.toThrow("HTTP 401: Who are you?");
});

test.each([
  [{ path: "./src/none.ts:auth" }, "", "config_invalid", "./src/none.ts".slice(2)],
  [{ path: "./src/auth.ts:other" }, "export const auth = 1;", "graph_load_failed", 'as "other"'],
  [
    { path: "./src/auth.ts:auth" },
    'import { Auth } from "@langchain/langgraph-sdk/auth"; export const auth = new Auth();',
    "graph_load_failed",
    "call .authenticate()",
  ],
])("a build whose auth is %j fails with its reason", async (auth, source, reason, text) => {
  const url = await pushRepository(uniqueName("no-auth"), await filesOf(auth, source));
  const { revision } = await build("no-auth", url);
  expect(revision).toMatchObject({
    status: "BUILD_FAILED",
    status_reason: reason,
    status_message: expect.stringContaining(text),
  });
});
