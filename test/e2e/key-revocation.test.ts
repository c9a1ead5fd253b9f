// A key is revoked while all that it has started is alive.
import { beforeAll, expect, test } from "vitest";
import { client } from "./support/clients.ts";
import { request } from "./support/http.ts";
import { stack, until } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";

type Key = { id: string; key: string };
type Run = { run_id: string; status: string };
type Cron = { cron_id: string; thread_id: string; enabled: boolean; next_run_date: string | null };

const SCHEDULE = { assistant_id: "echo", schedule: "* * * * *", input: { messages: [] } };

let agent: string;
let deployment_id: string;

beforeAll(async () => {
  deployment_id = await deployTestAgent();
  agent = `/agents/${deployment_id}`;
});

async function createKey(): Promise<Key> {
  const { status, body } = await request<Key>("POST", "/api/v1/api-key", { role: "editor" });
  expect(status).toBe(200);
  return body;
}

async function post<T>({ key }: Key, path: string, json: object): Promise<T> {
  const headers = { "x-api-key": key };
  const { status, body } = await request<T>("POST", agent + path, json, headers);
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
}

/** Opens the stream of a thread. `ended` resolves when it ends, however it does. */
async function openStream({ key }: Key, thread_id: string) {
  const url = `${stack.base_url}${agent}/threads/${thread_id}/stream`;
  const abort = new AbortController();
  const response = await fetch(url, { headers: { "x-api-key": key }, signal: abort.signal });
  expect(response.status).toBe(200);
  const ended = response.text().then(
    () => "ended",
    () => "ended",
  );
  return { ended, close: () => abort.abort() };
}

async function openSocket({ key }: Key, thread_id: string): Promise<{ ended: Promise<number> }> {
  const url = `${stack.base_url}${agent}/threads/${thread_id}/stream/events`;
  const name = `heddle.auth.${Buffer.from(key).toString("base64url")}`;
  const socket = new WebSocket(url.replace(/^http/, "ws"), ["heddle", name]);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve, { once: true });
    socket.addEventListener("error", reject, { once: true });
  });
  const ended = new Promise<number>((resolve) => {
    socket.addEventListener("close", ({ code }) => resolve(code));
  });
  return { ended };
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T | "open"> {
  return Promise.race([
    promise,
    new Promise<"open">((resolve) => setTimeout(() => resolve("open"), ms)),
  ]);
}

async function createCron(key: Key, thread_id: string): Promise<Cron> {
  return post<Cron>(key, `/threads/${thread_id}/runs/crons`, SCHEDULE);
}

test("a revoked key ends its streams, sockets, crons and queued runs, and those of no other key", async () => {
  const { threads, runs } = client(deployment_id);
  const newThread = async () => (await threads.create()).thread_id;
  const [own, other] = [await createKey(), await createKey()];
  const [busy, ticking, control] = [await newThread(), await newThread(), await newThread()];

  const blocker = await post<Run>(other, `/threads/${busy}/runs`, { assistant_id: "talks" });
  const input = { messages: [{ role: "user", content: "from the past" }] };
  const order = { assistant_id: "echo", input, multitask_strategy: "enqueue" };
  const queued = await post<Run>(own, `/threads/${busy}/runs`, order);
  const stream = await openStream(own, busy);
  const socket = await openSocket(own, busy);
  const otherStream = await openStream(other, busy);
  const otherSocket = await openSocket(other, busy);
  const others = Promise.race([otherStream.ended, otherSocket.ended]);
  // Both crons are due at the same time, after the revocation.
  await until(
    "The first half of a minute",
    async () => new Date().getSeconds(),
    (second) => second < 30,
  );
  const cron = await createCron(own, ticking);
  const otherCron = await createCron(other, control);

  expect((await request("DELETE", `/api/v1/api-key/${own.id}`)).status).toBe(200);
  expect(await Promise.all([stream.ended, socket.ended])).toEqual(["ended", 4401]);
  expect(await within(others, 5000)).toBe("open");
  const statuses = (await runs.list(busy)).map(({ status }) => status).sort();
  expect(statuses).toEqual(["pending", "running"]);

  await runs.cancel(busy, blocker.run_id);
  const over = await until(
    "The end of the queued run",
    () => runs.get(busy, queued.run_id),
    ({ status }) => status !== "pending" && status !== "running",
  );
  expect(over.status).toBe("error");
  const state = JSON.stringify(await threads.get(busy));
  expect(state).toContain("AuthorizationError");
  expect(state).not.toContain("from the past");

  await until(
    "A firing of the other key's cron",
    () => runs.list(control),
    (fired) => fired.length > 0,
  );
  const path = `${agent}/runs/crons/${cron.cron_id}`;
  const disabled = await until(
    "The end of the cron",
    () => request<Cron>("GET", path),
    ({ body }) => !body.enabled,
  );
  expect(disabled.body.next_run_date).toBeNull();
  expect(await runs.list(ticking)).toEqual([]);

  expect(await within(others, 100)).toBe("open");
  await request("DELETE", `${agent}/runs/crons/${otherCron.cron_id}`);
  otherStream.close();
});
