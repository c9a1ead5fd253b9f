import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { testDeployment } from "../../support/agent-deployment.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

let owner: TestWorkspace;
let deployment_id: string;
let agent: string;

beforeAll(async () => {
  owner = await workspace();
  ({ deployment_id } = await testDeployment(owner.workspace_id));
  agent = `/agents/${deployment_id}`;
});
afterEach(() => vi.useRealTimers());

const DAY_MS = 24 * 60 * 60 * 1000;
const RUN = { assistant_id: "steps", input: { delay_ms: 20 } };

async function post(path: string, key: string, json: unknown = RUN) {
  const headers = { "Idempotency-Key": key };
  const response = await api(agent + path, { key: owner.editor, json, headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function get(path: string) {
  const response = await api(agent + path, { key: owner.editor });
  return response.json<unknown>();
}

async function newThread(): Promise<string> {
  const { text } = await post("/threads", "unused", {});
  return JSON.parse(text).thread_id;
}

const idOf = ({ headers }: { headers: Headers }) =>
  headers.get("Content-Location")?.split("/").at(-1);

const dataOf = (text: string) =>
  text.split("\n").filter((line) => line.startsWith("data: ") || line.startsWith("id: "));

describe("a repeated request with an Idempotency-Key", () => {
  test("creates one run of a thread, also at the same time and after a crash", async () => {
    const thread_id = await newThread();
    const runs = `/threads/${thread_id}/runs`;
    const answers = await Promise.all([1, 2, 3].map(() => post(runs, "one")));
    const [first] = answers;
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const stub = env.THREADS.getByName(`${deployment_id}/${thread_id}`);
    await runInDurableObject(stub, (_, state) => state.abort("crash")).catch(() => {});
    answers.push(await post(runs, "one"), await post(`${runs}/wait`, "one"));
    expect(new Set(answers.map(idOf)).size).toBe(1);
    expect(JSON.parse(answers.at(-1)?.text ?? "")).toMatchObject({ log: ["a", "b", "c"] });
    expect(await get(runs)).toEqual([expect.objectContaining({ run_id: idOf(first as never) })]);
    expect(JSON.stringify(await get(runs))).not.toContain("sha256");
  });

  test("joins the run's stream from its first event", async () => {
    const stream = `/threads/${await newThread()}/runs/stream`;
    const body = { ...RUN, stream_mode: ["updates"] };
    const [first, second] = await Promise.all([1, 2].map(() => post(stream, "s", body)));
    const third = await post(stream, "s", body);
    expect(dataOf(first?.text ?? "").length).toBeGreaterThan(6);
    expect(dataOf(second?.text ?? "")).toEqual(dataOf(first?.text ?? ""));
    expect(dataOf(third.text)).toEqual(dataOf(first?.text ?? ""));
  });

  test("with another body is a 409 that names the header, and starts nothing", async () => {
    const thread_id = await newThread();
    const runs = `/threads/${thread_id}/runs`;
    await post(runs, "key");
    for (const path of [runs, `${runs}/wait`, `${runs}/stream`]) {
      const { status, text } = await post(path, "key", { ...RUN, input: { delay_ms: 21 } });
      expect([status, text]).toEqual([
        409,
        "Idempotency-Key: was used with another body; use a new key for a new run.",
      ]);
    }
    expect(await get(runs)).toHaveLength(1);
  });

  test("creates one threadless run, which a stream and a wait join after its end", async () => {
    const first = await post("/runs/wait", "t");
    const second = await post("/runs/stream", "t");
    const third = await post("/runs", "t");
    expect(new Set([first, second, third].map(idOf)).size).toBe(1);
    expect(JSON.parse(first.text)).toMatchObject({ log: ["a", "b", "c"] });
    expect(second.text).toContain('"log":["a","b","c"]');
    expect(JSON.parse(third.text)).toMatchObject({ status: "success" });
    expect(await post("/runs", "t", { ...RUN, input: {} })).toMatchObject({ status: 409 });
  });

  test("keeps its threadless run for a day, then deletes it", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const HOUR_MS = 60 * 60 * 1000;
    const run_id = idOf(await post("/runs/wait", "kept"));
    const stub = env.THREADS.getByName(`${deployment_id}/${run_id}`);
    const existsAfter = async (hours: number) => {
      vi.setSystemTime(Date.now() + hours * HOUR_MS);
      await runInDurableObject(stub, (thread) => thread.alarm?.());
      return (await api(`${agent}/runs/${run_id}/stream`, { key: owner.editor })).status;
    };
    expect(await existsAfter(23)).toBe(200);
    expect(await existsAfter(3)).toBe(404);
  });

  test.each(["/runs", "thread"])("finds the run of the day before: %s", async (where) => {
    const path = where === "thread" ? `/threads/${await newThread()}/runs` : where;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const first = await post(path, "midnight");
    vi.setSystemTime(Date.now() + DAY_MS);
    expect(idOf(await post(path, "midnight"))).toBe(idOf(first));
    vi.setSystemTime(Date.now() + DAY_MS);
    expect(idOf(await post(path, "midnight"))).not.toBe(idOf(first));
  });

  test.each(["/runs", "thread"])(
    "finds the run of a clock that is past midnight: %s",
    async (where) => {
      const path = where === "thread" ? `/threads/${await newThread()}/runs` : where;
      const midnight = Math.ceil(Date.now() / DAY_MS) * DAY_MS;
      vi.useFakeTimers({ toFake: ["Date"], now: midnight + 1000 });
      const first = await post(path, "early");
      vi.setSystemTime(midnight - 1000);
      expect(idOf(await post(path, "early"))).toBe(idOf(first));
    },
  );

  test("makes each run of a batch once", async () => {
    const body = [RUN, RUN];
    const ids = async () =>
      JSON.parse((await post("/runs/batch", "batch", body)).text).map(
        (run: { run_id: string }) => run.run_id,
      );
    const first = await ids();
    expect(new Set(first).size).toBe(2);
    expect(await ids()).toEqual(first);
  });
});

test("keys of different threads, deployments and workspaces are apart", async () => {
  const [a, b] = [await newThread(), await newThread()];
  const ids = [await post(`/threads/${a}/runs`, "k"), await post(`/threads/${b}/runs`, "k")];
  const other = await workspace();
  const { deployment_id: theirs } = await testDeployment(other.workspace_id);
  const response = await api(`/agents/${theirs}/runs`, {
    ...{ key: other.editor, json: RUN, headers: { "Idempotency-Key": "k" } },
  });
  expect(response.status).toBe(200);
  const all = [...ids.map(idOf), idOf(await post("/runs", "k")), idOf(response)];
  expect(new Set(all).size).toBe(4);
});

test("a key that is too long is a 422 that names the header", async () => {
  const { status, text } = await post("/runs", "k".repeat(256));
  expect(status).toBe(422);
  expect(text).toContain("idempotency-key");
});

test("a repeated request gets its run over a quota that refuses a new one", async () => {
  const quotas = (list: unknown[]) =>
    api("/v1/quotas", { key: owner.admin, method: "PUT", json: { quotas: list } });
  const thread = await api(`${agent}/threads`, { key: owner.editor, json: {} });
  const { thread_id } = await thread.json<{ thread_id: string }>();
  const paths = ["/runs/wait", `/threads/${thread_id}/runs/wait`];
  const [key, other] = [crypto.randomUUID(), crypto.randomUUID()];
  for (const path of paths) expect((await post(path, key)).status).toBe(200);
  await quotas([{ meter: "runs_created", period: "day", limit: 0 }]);
  try {
    for (const path of paths) {
      expect((await post(path, key)).status).toBe(200);
      expect((await post(path, other)).status).toBe(402);
    }
  } finally {
    await quotas([]);
  }
});
