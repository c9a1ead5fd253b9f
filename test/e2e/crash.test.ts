import { beforeAll, expect, test } from "vitest";
import { client } from "./support/clients.ts";
import {
  awaitRevision,
  createBody,
  type Deployment,
  exampleUrl,
  type Revision,
  uniqueName,
} from "./support/deployments.ts";
import { aliveAgain, request } from "./support/http.ts";
import { killWorker, until } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";

type Log = { log: string[] };

let deployment_id: string;
beforeAll(async () => {
  deployment_id = await deployTestAgent();
});

test("a run continues where the killed Worker left it, and its reader misses nothing", async () => {
  const { threads, runs } = client(deployment_id);
  const { thread_id } = await threads.create();
  const { run_id } = await runs.create(thread_id, "steps", {
    input: { delay_ms: 1_500 },
    streamMode: "updates",
  });
  const first = runs.joinStream(thread_id, run_id);
  let lastEventId = "";
  for await (const { event, id } of first) {
    lastEventId = id ?? lastEventId;
    if (event === "updates") break;
  }
  await killWorker();
  await aliveAgain();

  const rest = [];
  for await (const event of runs.joinStream(thread_id, run_id, { lastEventId })) rest.push(event);
  expect(rest.map(({ event, data }) => [event, data])).toEqual([
    ["metadata", expect.objectContaining({ run_id, attempt: 2 })],
    ["updates", { b: { log: ["b"] } }],
    ["updates", { c: { log: ["c"] } }],
  ]);
  const { values } = await threads.getState<Log>(thread_id);
  expect(values.log).toEqual(["a", "b", "c"]);
  expect(await runs.get(thread_id, run_id)).toMatchObject({ status: "success" });
});

test("runs that were queued when the Worker was killed all run, once, in order", async () => {
  const { threads, runs } = client(deployment_id);
  const { thread_id } = await threads.create();
  const created = [];
  for (let n = 0; n < 5; n++) {
    created.push(await runs.create(thread_id, "steps", { input: { delay_ms: 100 } }));
  }
  await killWorker();
  await aliveAgain();
  for (const { run_id } of created) await runs.join(thread_id, run_id);
  const { values } = await threads.getState<Log>(thread_id);
  expect(values.log.join("")).toBe("abc".repeat(5));
});

test("a run that the killed Worker has not answered runs once when its request is repeated", async () => {
  const { thread_id } = await client(deployment_id).threads.create();
  const wait = (key: string) => {
    const body = { assistant_id: "steps", input: { delay_ms: 0 } };
    const path = `/agents/${deployment_id}/threads/${thread_id}/runs/wait`;
    const headers = { "idempotency-key": key };
    return request<Log>("POST", path, body, headers).catch(() => ({ status: 0, body: null }));
  };
  for (let n = 1; n <= 6; n++) {
    const sent = wait(`run ${n}`);
    await new Promise((sleep) => setTimeout(sleep, 4 * n));
    await killWorker();
    await sent;
    await aliveAgain();
    const answer = await until(
      "The run",
      () => wait(`run ${n}`),
      ({ status }) => status === 200,
    );
    expect(answer.body?.log.join("")).toBe("abc".repeat(n));
  }
});

test("the SDK's own retries and its reconnect bridge a crash", async () => {
  const { threads, runs } = client(deployment_id, { maxRetries: 4 });
  const { thread_id } = await threads.create();
  const stream = runs.stream(thread_id, "steps", {
    input: { delay_ms: 1_000 },
    streamMode: "updates",
  });
  const seen: string[] = [];
  for await (const { event, data } of stream) {
    if (event !== "updates") continue;
    seen.push(...Object.keys(data as object));
    if (seen.length === 1) await killWorker();
  }
  expect(seen).toEqual(["a", "b", "c"]);
});

test("threads whose directory update was gathered at the kill are found by their status", async () => {
  const { threads, runs } = client(deployment_id);
  const made = await Promise.all(Array.from({ length: 5 }, () => threads.create()));
  const ids = made.map(({ thread_id }) => thread_id);
  await Promise.all(ids.map((id) => runs.wait(id, "steps", { input: { delay_ms: 1 } })));
  await killWorker();
  await aliveAgain();
  await until(
    "The directory to have the end of each run",
    () => threads.search({ ids, limit: 10, select: ["thread_id", "state_updated_at"] }),
    (found) => found.length === 5 && found.every((thread) => thread.state_updated_at),
  );
});

test("a build whose Worker is killed ends DEPLOYED", async () => {
  const created = await request<Deployment>(
    "POST",
    "/v2/deployments",
    createBody(uniqueName("killed"), exampleUrl("chat")),
  );
  const { id, latest_revision_id } = created.body;
  await until(
    "The build to begin",
    () => request<Revision>("GET", `/v2/deployments/${id}/revisions/${latest_revision_id}`),
    ({ body }) => body.status !== "AWAITING_BUILD" && body.status !== "QUEUED",
  );
  await killWorker();
  await aliveAgain();
  const revision = await awaitRevision(id, latest_revision_id);
  expect(revision).toMatchObject({ status: "DEPLOYED" });
});
