import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { testDeployment } from "../../support/agent-deployment.ts";
import { agentWithUsers, answerOf, type UserCall } from "../../support/agent-users.ts";
import { eventually } from "../../support/eventually.ts";
import { workspace } from "../../support/workspace.ts";

type Agent = Awaited<ReturnType<typeof agentWithUsers>>;

let agent: Agent;
let anna: UserCall;
let bob: UserCall;

// Tokens and what they do: test/fixtures/agents/auth.ts.
beforeAll(async () => {
  agent = await agentWithUsers();
  anna = agent.as("anna");
  bob = agent.as("bob");
});

async function idOf(answer: ReturnType<UserCall>, name: string): Promise<string> {
  const { json, status, text } = await answer;
  if (status !== 200) throw new Error(`${status} ${text}`);
  return (json as Record<string, string>)[name] ?? "";
}

const newThread = (user: UserCall, json = {}) => idOf(user("/threads", { json }), "thread_id");
const DELAYED_RUN = { assistant_id: "echo", after_seconds: 3600, input: {} };

/** Moves a revision of another deployment here, as a preview beside the one that serves. */
async function moveRevision({ base, deployment_id }: Agent, revision_id: string) {
  await env.DB.prepare("UPDATE revisions SET deployment_id = ?, number = 2 WHERE id = ?")
    .bind(deployment_id, revision_id)
    .run();
  return { preview: `${base}/revisions/${revision_id}/threads/search` };
}

describe("authentication", () => {
  test("an HTTPException is answered with its status, text and headers", async () => {
    const answer = await agent.as(null)("/threads", { json: {} });
    expect([answer.status, answer.text]).toEqual([401, "Who are you?"]);
    expect(answer.headers.get("WWW-Authenticate")).toBe('Bearer realm="agent"');
    expect(await agent.as("teapot")("/threads", { json: {} })).toMatchObject({
      status: 418,
      text: "short and stout",
    });
  });

  test.each([
    ["throws", "crash"],
    ["returns no identity", "nameless"],
  ])("an authenticate that %s is a 500 without details", async (_, token) => {
    const { status, text } = await agent.as(token)("/threads", { json: {} });
    expect([status, text]).toEqual([500, "Internal Server Error"]);
  });

  test.each([
    ["throws", "crashes"],
    ["returns undefined in a filter", "odd"],
    ["returns a number", "number"],
  ])("a handler that %s is a 500 without details", async (_, identity) => {
    const thread_id = await newThread(anna);
    const { status, text } = await agent.as(identity)(`/threads/${thread_id}`);
    expect([status, text]).toEqual([500, "Internal Server Error"]);
  });

  test("an error of a handler is in the deployment's log", async () => {
    await agent.as("crash")("/threads", { json: {} });
    const path = `/v1/projects/${agent.deployment_id}/deploy_logs`;
    await eventually(
      async () => {
        const logged = await answerOf(path, { key: agent.admin, json: {} });
        expect(logged.text).toContain("auth: authenticate failed: Error: the password");
      },
      { interval: 100 },
    );
  });

  test("a workspace's key alone is refused, and the agent's code does not receive it", async () => {
    const path = `${agent.base}/threads`;
    for (const key of [agent.admin, agent.editor]) {
      expect((await answerOf(path, { key, json: {} })).status).toBe(401);
      const headers = { Authorization: `Bearer ${key}` };
      expect((await answerOf(path, { headers, json: {} })).status).toBe(401);
    }
    const both = await agent.as("anna:me")("/runs/wait", {
      headers: { "X-Api-Key": agent.admin },
      json: { assistant_id: "config", input: {} },
    });
    expect(both.json).toMatchObject({ seen: { langgraph_auth_user: { key: null } } });
  });

  test("/info needs no authentication, /ok does", async () => {
    expect((await agent.as(null)("/info")).status).toBe(200);
    expect((await agent.as(null)("/ok")).status).toBe(401);
    expect((await anna("/ok")).json).toEqual({ ok: true });
  });

  test("authenticate sees the path below the deployment's URL", async () => {
    const json = { assistant_id: "config", input: {} };
    const { json: values } = await agent.as("anna:me")("/runs/wait", { json });
    expect(values).toMatchObject({ seen: { langgraph_auth_user: { pathname: "/runs/wait" } } });
  });

  test("Studio is authenticated by a key of the workspace", async () => {
    const studio = { "x-auth-scheme": "langsmith" };
    const path = `${agent.base}/threads`;
    expect((await answerOf(path, { headers: studio, json: {} })).status).toBe(401);
    const thread_id = await newThread(anna);
    const seen = await answerOf(`${path}/${thread_id}`, { key: agent.viewer, headers: studio });
    expect(seen.status).toBe(200);
    const stranger = await workspace();
    for (const method of ["GET", "DELETE"]) {
      const sent = { key: stranger.admin, headers: studio, method };
      expect((await answerOf(`${path}/${thread_id}`, sent)).status).toBe(404);
    }
    const sent = { key: agent.viewer, headers: studio, method: "DELETE" };
    expect((await answerOf(`${path}/${thread_id}`, sent)).status).toBe(403);
  });

  test("disable_studio_auth refuses Studio", async () => {
    const auth = { path: "./src/auth.ts:auth", disable_studio_auth: true };
    const closed = await agentWithUsers({ auth });
    const headers = { "x-auth-scheme": "langsmith" };
    const sent = { key: closed.admin, headers, json: {} };
    expect((await answerOf(`${closed.base}/threads`, sent)).status).toBe(401);
  });

  test("a user authenticated by one agent has no access to another one or to the control plane", async () => {
    const plain = await testDeployment(agent.workspace_id);
    const headers = { Authorization: "Bearer admin" };
    for (const path of [
      `/agents/${plain.deployment_id}/ok`,
      "/v2/deployments",
      "/api/v1/sessions",
    ]) {
      expect((await answerOf(path, { headers })).status, path).toBe(401);
    }
  });

  test("the URL of an inactive revision needs the workspace's key and the agent's own authentication", async () => {
    const other = await testDeployment(agent.workspace_id, {
      auth: { path: "./src/auth.ts:auth" },
    });
    const serving = `${agent.base}/revisions/${agent.revision_id}/threads/search`;
    const headers = { Authorization: "Bearer bob" };
    expect((await answerOf(serving, { headers, json: {} })).status).toBe(200);
    const { preview } = await moveRevision(agent, other.revision_id);
    expect((await answerOf(preview, { headers, json: {} })).status).toBe(401);
    expect((await answerOf(preview, { key: agent.admin, json: {} })).status).toBe(401);
    expect((await answerOf(preview, { key: agent.admin, headers, json: {} })).text).toBe("[]");
  });
});

describe("metadata changed by a handler is stored", () => {
  test("the owner of a thread is its creator, whatever metadata they send", async () => {
    const metadata = { owner: "bob", topic: "soup" };
    const { json } = await anna("/threads", { json: { metadata } });
    expect(json).toMatchObject({ metadata: { owner: "anna", topic: "soup" } });
    const thread_id = (json as { thread_id: string }).thread_id;
    const patch = { method: "PATCH", json: { metadata: { owner: "bob" } } };
    const patched = await anna(`/threads/${thread_id}`, patch);
    expect(patched.json).toMatchObject({ metadata: { owner: "anna" } });
  });

  test("a copy keeps the owner of its source when no handler sets one", async () => {
    const admin = agent.as("admin");
    const thread_id = await newThread(anna, { metadata: { topic: "soup" } });
    const copy = await admin(`/threads/${thread_id}/copy`, { method: "POST" });
    expect(copy.json).toMatchObject({ metadata: { owner: "anna", topic: "soup" } });
    const own = await anna(`/threads/${thread_id}/copy`, { method: "POST" });
    expect(own.json).toMatchObject({ metadata: { owner: "anna", topic: "soup" } });
  });

  test("a run and an assistant get the owner that the handler sets", async () => {
    const thread_id = await newThread(anna);
    const { json: run } = await anna(`/threads/${thread_id}/runs`, { json: DELAYED_RUN });
    expect(run).toMatchObject({ metadata: { owner: "anna" } });
    const { json: made } = await anna("/assistants", { json: { graph_id: "echo" } });
    expect(made).toMatchObject({ metadata: { owner: "anna" } });
  });

  test("an item is written below the namespace that the handler prepends", async () => {
    const rooted = agent.as("dora:rooted");
    const json = { namespace: ["notes"], key: "n", value: { n: 1 } };
    expect((await rooted("/store/items", { method: "PUT", json })).status).toBe(204);
    const found = await agent.as("dora")("/store/items?namespace=dora.notes&key=n");
    expect(found.json).toMatchObject({ namespace: ["dora", "notes"], value: { n: 1 } });
  });
});

describe("graphs receive the user", () => {
  const SPOOF = {
    langgraph_auth_user: { identity: "admin" },
    langgraph_auth_user_id: "admin",
    langgraph_auth_permissions: ["all"],
  };

  test("a graph receives the authenticated user, not the one in the request's config", async () => {
    const config = { configurable: SPOOF };
    const json = { assistant_id: "config", input: {}, config };
    const { json: values } = await agent.as("anna:me,you")("/runs/wait", { json });
    expect(values).toMatchObject({
      seen: {
        langgraph_auth_user_id: "anna",
        langgraph_auth_user: { identity: "anna", display_name: "anna", is_authenticated: true },
        langgraph_auth_permissions: ["me", "you"],
      },
    });
  });

  test("a run of a deployment without auth has no user, even if the config names one", async () => {
    const { deployment_id } = await testDeployment(agent.workspace_id);
    const json = { assistant_id: "config", input: {}, config: { configurable: SPOOF } };
    const path = `/agents/${deployment_id}/runs/wait`;
    const { json: values } = await answerOf(path, { key: agent.admin, json });
    expect(JSON.stringify(values)).not.toContain("langgraph_auth_");
  });

  test("a run has the user who created it, also on a thread with another user's run", async () => {
    const thread_id = await newThread(anna);
    const wait = { assistant_id: "tokens", input: { text: "one two three" } };
    await anna(`/threads/${thread_id}/runs`, { json: wait });
    const run = { json: { assistant_id: "config", input: {} } };
    const queued = await agent.as("admin")(`/threads/${thread_id}/runs`, run);
    const { run_id } = queued.json as { run_id: string };
    const joined = await anna(`/threads/${thread_id}/runs/${run_id}/join`);
    expect(joined.json).toMatchObject({ seen: { langgraph_auth_user_id: "admin" } });
  });

  test("permissions of a run's user are not in its events, history or list", async () => {
    const secret = agent.as("anna:secret-permission");
    const thread_id = await newThread(anna);
    const json = { assistant_id: "steps", input: {}, stream_mode: ["debug", "checkpoints"] };
    const { text, status } = await secret(`/threads/${thread_id}/runs/stream`, { json });
    expect(status).toBe(200);
    const history = await anna(`/threads/${thread_id}/history`, { json: {} });
    const runs = await anna(`/threads/${thread_id}/runs`);
    const shown = text + history.text + runs.text;
    expect(shown).toContain("checkpoint_id");
    expect(shown).not.toContain("secret-permission");
  });
});

describe("filters", () => {
  test("$eq matches a value, and $contains matches an element of a list", async () => {
    const carol = agent.as("carol");
    const reader = agent.as("reader");
    const thread_id = await newThread(carol, { metadata: { readers: ["x", "reader"] } });
    const other = await newThread(carol, { metadata: { readers: "reader" } });
    expect((await carol(`/threads/${thread_id}`)).status).toBe(200);
    expect((await reader(`/threads/${thread_id}`)).status).toBe(200);
    expect((await reader(`/threads/${other}`)).status).toBe(404);
    const found = await reader("/threads/search", { json: {} });
    expect(found.json).toMatchObject([{ thread_id }]);
    expect((await reader("/threads/count", { json: {} })).text).toBe("1");
  });

  test("search pages are full and the total counts only visible threads", async () => {
    const [eve, mallory] = [agent.as("eve"), agent.as("mallory")];
    const mine: string[] = [];
    for (let n = 0; n < 5; n++) {
      mine.unshift(await newThread(eve));
      await newThread(mallory);
    }
    const page = await eve("/threads/search", { json: { limit: 3 } });
    expect(page.json).toMatchObject(mine.slice(0, 3).map((thread_id) => ({ thread_id })));
    const rest = await eve("/threads/search", { json: { limit: 3, offset: 3 } });
    expect(rest.json).toMatchObject(mine.slice(3).map((thread_id) => ({ thread_id })));
    expect(rest.headers.get("X-Pagination-Total")).toBe("5");
    expect((await eve("/threads/count", { json: {} })).text).toBe("5");
  });

  test("store filters match an item's value, namespace and key", async () => {
    const [filters, keeper] = [agent.as("filters"), agent.as("keeper")];
    const put = (by: typeof filters, namespace: string[], key: string, open?: string) =>
      by("/store/items", { method: "PUT", json: { namespace, key, value: { by: "x", open } } });
    const mine = ["of", "filters"];
    expect((await put(filters, mine, "mine", "yes")).status).toBe(204);
    expect((await put(keeper, mine, "closed", "no")).status).toBe(204);
    expect((await put(keeper, ["of", "keeper"], "theirs", "yes")).status).toBe(204);

    const refused = await put(filters, mine, "hidden");
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining("auth")]);
    expect((await put(filters, mine, "closed", "yes")).status).toBe(403);
    expect((await put(filters, ["of", "keeper"], "new", "yes")).status).toBe(403);

    const found = await filters("/store/items/search", {
      json: { namespace_prefix: [], limit: 2 },
    });
    expect(found.json).toMatchObject({ items: [{ key: "mine" }] });
    expect((await filters("/store/items?namespace=of.filters&key=mine")).json).toMatchObject({
      value: { open: "yes" },
    });
    expect((await filters("/store/items?namespace=of.filters&key=closed")).json).toBeNull();
    const json = { namespace: mine, key: "closed" };
    expect((await filters("/store/items", { method: "DELETE", json })).status).toBe(204);
    const kept = await keeper("/store/items/search", { json: { namespace_prefix: mine } });
    expect(kept.json).toMatchObject({ items: [{ key: "closed" }, { key: "mine" }] });
  });

  test("a user reads and writes only below their own namespace", async () => {
    const json = { namespace: ["anna"], key: "mine", value: { n: 1 } };
    expect((await anna("/store/items", { method: "PUT", json })).status).toBe(204);
    const found = await anna("/store/items/search", { json: { namespace_prefix: ["anna"] } });
    expect(found.json).toMatchObject({ items: [{ key: "mine" }] });
    const all = await anna("/store/items/search", { json: { namespace_prefix: [] } });
    expect(all.status).toBe(403);
    expect((await anna("/store/namespaces", { json: {} })).status).toBe(403);
  });
});

describe("a cron", () => {
  const HOURLY = { schedule: "0 * * * *", input: {}, on_run_completed: "keep" };

  /** Fires the cron now and returns the thread of its run. */
  async function fire(cron_id: string) {
    const object = env.CRONS.getByName(agent.deployment_id);
    await runInDurableObject(object, (_, { storage }) => {
      storage.sql.exec("UPDATE crons SET next_at = ? WHERE cron_id = ?", Date.now() - 1, cron_id);
    });
    await runDurableObjectAlarm(object);
  }

  test("starts its runs as the user who created it, on threads of that user", async () => {
    const made = { json: { ...HOURLY, assistant_id: "config" } };
    const cron_id = await idOf(agent.as("gina:clock")("/runs/crons", made), "cron_id");
    await fire(cron_id);
    const gina = agent.as("gina");
    const thread_id = await eventually(async () => {
      const { json } = await gina("/threads/search", { json: {} });
      expect(json).toHaveLength(1);
      return (json as [{ thread_id: string }])[0].thread_id;
    });
    const [run] = (await gina(`/threads/${thread_id}/runs`)).json as { run_id: string }[];
    const { json } = await gina(`/threads/${thread_id}/runs/${run?.run_id}/join`);
    expect(json).toMatchObject({
      seen: { langgraph_auth_user_id: "gina", langgraph_auth_permissions: ["clock"] },
    });
    expect((await bob(`/threads/${thread_id}`)).status).toBe(404);
  });

  test("does not run on a thread that its user lost, and is disabled", async () => {
    const thread_id = await newThread(anna);
    const json = { ...HOURLY, assistant_id: "echo" };
    const cron_id = await idOf(anna(`/threads/${thread_id}/runs/crons`, { json }), "cron_id");
    const metadata = { owner: "bob" };
    const given = await agent.as("admin")(`/threads/${thread_id}`, {
      method: "PATCH",
      json: { metadata },
    });
    expect(given.json).toMatchObject({ metadata });
    await fire(cron_id);
    expect((await bob(`/threads/${thread_id}/runs`)).json).toEqual([]);
    expect((await anna(`/runs/crons/${cron_id}`)).json).toMatchObject({ enabled: false });
  });
});

describe("published authorization bypasses of other servers", () => {
  test("GHSA-747p-c922-m55f: creating an existing thread gives no access to it", async () => {
    const thread_id = await newThread(anna, { metadata: { secret: "soup" } });
    for (const if_exists of ["raise", "do_nothing"]) {
      const answer = await bob("/threads", { json: { thread_id, if_exists } });
      expect([answer.status, answer.text]).toEqual([409, "Thread already exists"]);
    }
    const own = await anna("/threads", { json: { thread_id, if_exists: "do_nothing" } });
    expect(own.json).toMatchObject({ thread_id, metadata: { secret: "soup" } });
  });

  test("creating an existing assistant gives no access to it", async () => {
    const made = { json: { graph_id: "echo", config: { tags: ["secret"] } } };
    const assistant_id = await idOf(anna("/assistants", made), "assistant_id");
    const json = { graph_id: "echo", assistant_id, if_exists: "do_nothing" };
    expect((await bob("/assistants", { json })).status).toBe(409);
    expect((await anna("/assistants", { json })).json).toMatchObject({ assistant_id });
  });

  test.each(["/runs", "/runs/wait", "/runs/stream"])(
    "create_run with if_not_exists does not reach another's thread: %s",
    async (path) => {
      const thread_id = await newThread(anna);
      const json = { assistant_id: "echo", input: {}, if_not_exists: "create" };
      const answer = await bob(`/threads/${thread_id}${path}`, { json });
      expect([answer.status, answer.text]).toEqual([404, `Thread with ID ${thread_id} not found`]);
      expect((await anna(`/threads/${thread_id}/runs`)).json).toEqual([]);
    },
  );

  test("a thread created by a run belongs to the user of the run", async () => {
    const thread_id = crypto.randomUUID();
    const json = { ...DELAYED_RUN, if_not_exists: "create", metadata: { owner: "anna" } };
    await idOf(bob(`/threads/${thread_id}/runs`, { json }), "run_id");
    expect((await anna(`/threads/${thread_id}`)).status).toBe(404);
    const seen = await bob(`/threads/${thread_id}`);
    expect(seen.json).toMatchObject({ metadata: { owner: "bob" } });
  });

  test("the log of a run is replayed to no other user, threaded or threadless", async () => {
    const json = { assistant_id: "echo", input: { messages: ["secret"] }, on_completion: "keep" };
    const thread_id = await newThread(anna);
    const run_id = await idOf(anna(`/threads/${thread_id}/runs`, { json }), "run_id");
    const threadless = await idOf(anna("/runs", { json }), "run_id");
    await anna(`/threads/${thread_id}/runs/${run_id}/join`);
    const headers = { "Last-Event-ID": "-1" };
    const run = `/threads/${thread_id}/runs/${run_id}`;
    const paths = [`${run}/stream`, `${run}/join`, `/runs/${threadless}/stream`];
    for (const path of [...paths, `/threads/${thread_id}/stream`]) {
      expect((await bob(path, { headers })).status, path).toBe(404);
    }
    for (const path of paths) {
      expect((await anna(path, { headers })).text, path).toContain("secret");
    }
  });

  test("aegra 431: a thread_id in the config of a run or a cron names no other thread", async () => {
    const thread_id = await newThread(anna);
    const config = { configurable: { thread_id } };
    const json = { assistant_id: "echo", input: { messages: ["intruder"] }, config };
    const own = await newThread(bob);
    expect((await bob(`/threads/${own}/runs/wait`, { json })).status).toBe(200);
    expect((await bob("/runs/wait", { json })).status).toBe(200);
    expect((await anna(`/threads/${thread_id}/state`)).text).not.toContain("intruder");
    const cron = { assistant_id: "echo", schedule: "0 0 29 2 *" };
    const onIt = await bob(`/threads/${thread_id}/runs/crons`, { json: cron });
    expect(onIt.status).toBe(404);
  });

  test("no user can run another's assistant", async () => {
    const made = { json: { graph_id: "config", config: { configurable: { key: "secret" } } } };
    const assistant_id = await idOf(anna("/assistants", made), "assistant_id");
    const json = { assistant_id, input: {} };
    expect((await anna("/runs/wait", { json })).text).toContain("secret");
    const answers = [
      await bob("/runs/wait", { json }),
      await bob("/runs/batch", { json: [json] }),
      await bob("/runs/crons", { json: { assistant_id, schedule: "0 0 29 2 *" } }),
    ];
    for (const { status, text } of answers) {
      expect([status, text]).toEqual([404, expect.stringMatching(/^No assistant found for/)]);
    }
  });

  test("a user whose threads:delete has a filter cannot delete an assistant with its threads", async () => {
    const made = { json: { graph_id: "echo" } };
    const assistant_id = await idOf(anna("/assistants", made), "assistant_id");
    const gone = await anna(`/assistants/${assistant_id}?delete_threads=true`, {
      method: "DELETE",
    });
    expect([gone.status, gone.text]).toEqual([403, expect.stringContaining("delete_threads")]);
    const rest = await anna(`/assistants/${assistant_id}?delete_threads=false`, {
      method: "DELETE",
    });
    expect(rest.status).toBe(204);
  });

  test("cancelling all runs cancels only the caller's", async () => {
    const threads = await Promise.all([newThread(anna), newThread(bob)]);
    const [annas = "", bobs = ""] = threads;
    const run_id = await idOf(anna(`/threads/${annas}/runs`, { json: DELAYED_RUN }), "run_id");
    const own = await idOf(bob(`/threads/${bobs}/runs`, { json: DELAYED_RUN }), "run_id");
    await bob("/runs/cancel", { json: { status: "all" } });
    const cancelled = async () => (await bob(`/threads/${bobs}/runs/${own}`)).json;
    // A thread that the directory does not have yet is cancelled when it has it.
    await expect.poll(cancelled).toMatchObject({ status: "interrupted" });
    const left = await anna(`/threads/${annas}/runs/${run_id}`);
    expect(left.json).toMatchObject({ status: "pending" });
  });
});

test("a bulk prune authorizes every thread before it deletes the first", async () => {
  const user = agent.as("decides by id");
  const thread = async (end: string) => {
    const thread_id = `${crypto.randomUUID().slice(0, -4)}${end}`;
    await agent.as("admin")("/threads", { json: { thread_id } });
    return thread_id;
  };
  const [own, foreign] = [await thread("0001"), await thread("0000")];
  const prune = (...thread_ids: string[]) => user("/threads/prune", { json: { thread_ids } });
  expect((await prune(own, foreign)).status).toBe(403);
  for (const id of [own, foreign]) {
    expect((await agent.as("admin")(`/threads/${id}`)).status).toBe(200);
  }
  expect((await prune(own)).json).toEqual({ pruned_count: 1 });
});

test("a bulk cancel authorizes every run by its id", async () => {
  const cancel = (...run_ids: string[]) =>
    agent.as("decides by id")("/runs/cancel", { json: { run_ids } });
  const run_id = (end: string) => `${crypto.randomUUID().slice(0, -4)}${end}`;
  expect((await cancel(run_id("0001"), run_id("0000"))).status).toBe(403);
  expect((await cancel(run_id("0001"))).status).toBe(404);
});
