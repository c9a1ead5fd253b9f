import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import type { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { directoryRows } from "../../support/directory.ts";
import { eventually } from "../../support/eventually.ts";
import { namesOf, testThread } from "../../support/threads.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

// Regressions of other servers; docs/reference/conformance.md has the list, with the tests elsewhere.

const hi = { messages: [{ role: "user", content: "hi" }] };
const slow = { input: { delay_ms: 2_000 } };
const quick = { input: { delay_ms: 0 } };
const interrupt = { wait: true, reason: null };

type TestThread = { deployment_id: string; thread_id: string };

function stubOf({ deployment_id, thread_id }: TestThread) {
  return env.THREADS.getByName(`${deployment_id}/${thread_id}`) as DurableObjectStub<ThreadObject>;
}

function tablesOf(place: TestThread) {
  return runInDurableObject(stubOf(place), (_thread, { storage }) =>
    storage.sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name NOT GLOB '_cf_*'")
      .toArray()
      .map(({ name }) => name),
  );
}

test("a run whose process died is cancelled, and its thread takes the next", async () => {
  const { place, object, create, wait } = await testThread();
  const { run_id } = await create("steps", slow);
  const stub = stubOf(place);
  await runInDurableObject(stub, (_object, state) => state.abort("crash")).catch(() => {});
  expect(await object.cancelRun(run_id, "interrupt", interrupt)).toBe(true);
  expect((await object.getRun(run_id))?.status).toBe("interrupted");
  expect((await object.getThread())?.status).not.toBe("busy");
  expect((await wait("steps", quick)).log.slice(-3)).toEqual(["a", "b", "c"]);
});

test("a run that is cancelled in the moment it is made does not answer later", async () => {
  const { object, create, wait } = await testThread();
  const { run_id } = await create("steps", { input: { delay_ms: 200 } });
  await object.cancelRuns({ run_ids: null, status: "all" }, "interrupt", "stop");
  const status = (await object.getRun(run_id))?.status;
  expect(status).toBe("interrupted");
  const { log } = await wait("steps", { input: { delay_ms: 200 } });
  expect(log).toEqual(["a", "b", "c"]);
});

test("a thread that is deleted leaves nothing behind", async () => {
  const { place, object, wait } = await testThread();
  await wait("echo", { input: { messages: [{ role: "user", content: "x".repeat(3_000_000) }] } });
  expect(await tablesOf(place)).toContain("value_segments");
  expect(await object.deleteThread()).toBe(true);
  expect(await tablesOf(place)).toEqual([]);
  expect(await object.getThread()).toBeNull();
  expect(await tablesOf(place)).toEqual([]);
});

test("the history is whole after the day for which events are kept", async () => {
  const { place, object, revision, create, join, follow } = await testThread();
  const runs = [await create("steps", quick), await create("steps", quick)];
  for (const { run_id } of runs) await join(run_id);
  const call = { ns: "", checkpoint_id: null, before_id: null, metadata: null, limit: 100 };
  const history = async () => {
    const answer = await object.getHistory(call, revision);
    return answer.ok ? JSON.parse(answer.value) : answer;
  };
  const before = await history();
  await runInDurableObject(stubOf(place), (_thread, { storage }) => {
    storage.sql.exec("UPDATE runs SET ended_at = ended_at - 2 * 24 * 3600 * 1000");
  });
  await runDurableObjectAlarm(stubOf(place));
  expect(await follow(runs[0]?.run_id ?? "")).toEqual([]);
  expect(before).toHaveLength(10);
  expect(await history()).toEqual(before);
});

describe("a reader that comes again", () => {
  test("misses nothing of subgraphs", async () => {
    const { create, follow } = await testThread();
    const modes = { stream_mode: ["updates", "custom"], stream_subgraphs: true };
    const { run_id } = await create("nested", { input: { log: [] }, ...modes });
    const all = await follow(run_id);
    expect(namesOf(all).filter((name) => name.includes("|")).length).toBeGreaterThan(1);
    for (const [n, { id }] of all.entries()) {
      expect(await follow(run_id, id)).toEqual(all.slice(n + 1));
    }
  });

  test("sees its own run's events, and ids that count from 0 in each run", async () => {
    const { create, follow, join } = await testThread();
    const first = await create("steps", { ...quick, stream_mode: "updates" });
    const second = await create("echo", { input: hi, stream_mode: "updates" });
    await join(second.run_id);
    const [firstEvents, secondEvents] = [await follow(first.run_id), await follow(second.run_id)];
    expect([firstEvents[0]?.id, secondEvents[0]?.id]).toEqual([0, 0]);
    expect(await follow(second.run_id, firstEvents[0]?.id)).toEqual(secondEvents.slice(1));
    expect(await follow(first.run_id, secondEvents[0]?.id)).toEqual(firstEvents.slice(1));
  });
});

describe("over HTTP", () => {
  let ours: TestWorkspace;
  let agent: string;

  beforeAll(async () => {
    ours = await workspace();
    agent = `/agents/${(await testDeployment(ours.workspace_id)).deployment_id}`;
  });

  const post = (path: string, json: unknown) => api(`${agent}${path}`, { key: ours.editor, json });
  const get = (path: string, headers = {}) => api(`${agent}${path}`, { key: ours.viewer, headers });

  test.each(["cancel", "continue"])(
    "a threadless run whose client left leaves no thread (%s)",
    async (on_disconnect) => {
      const body = { assistant_id: "steps", input: { delay_ms: 100 }, on_disconnect };
      const response = await post("/runs/stream", body);
      const run_id = response.headers.get("Content-Location")?.split("/")[2];
      await response.body?.cancel();
      await eventually(async () => expect((await get(`/threads/${run_id}`)).status).toBe(404));
      // A run of a second is listed while it lasts.
      await eventually(async () => {
        const listed = await directoryRows(agent.replace("/agents/", ""));
        expect(listed.map(({ thread_id }) => thread_id)).not.toContain(run_id);
      });
    },
  );

  test.each([
    ["complete", 404],
    ["continue", 200],
  ])("on_completion %s behaves as the SDK's types document", async (on_completion, status) => {
    const body = { assistant_id: "echo", input: hi, on_completion };
    const response = await post("/runs/wait", body);
    await response.text();
    const run_id = response.headers.get("Content-Location")?.split("/")[2];
    expect((await get(`/threads/${run_id}`)).status).toBe(status);
  });

  test("an empty Last-Event-ID clears the cursor", async () => {
    const { thread_id } = await (await post("/threads", {})).json<{ thread_id: string }>();
    const body = { assistant_id: "echo", input: hi };
    const stream = await post(`/threads/${thread_id}/runs/stream`, body);
    const location = stream.headers.get("Location") ?? "";
    const all = await stream.text();
    for (const id of ["", "-1"]) {
      const again = await get(location, { "Last-Event-ID": id });
      expect(await again.text()).toBe(all);
    }
    const wrong = await get(location, { "Last-Event-ID": "x" });
    expect([wrong.status, await wrong.text()]).toEqual([
      422,
      expect.stringMatching(/last-event-id/),
    ]);
  });

  test("a cancelled thread is not busy for ever, however often and early it is cancelled", async () => {
    const { thread_id } = await (await post("/threads", {})).json<{ thread_id: string }>();
    const path = `/threads/${thread_id}`;
    for (let n = 0; n < 5; n++) {
      const run = await (await post(`${path}/runs`, { assistant_id: "steps", ...slow })).json<{
        run_id: string;
      }>();
      const cancels = [1, 2, 3].map(() =>
        post(`${path}/runs/${run.run_id}/cancel?wait=${n % 2}`, {}),
      );
      expect((await Promise.all(cancels)).map(({ ok }) => ok)).toEqual([true, true, true]);
    }
    await eventually(async () => {
      const { status } = await (await get(path)).json<{ status: string }>();
      expect(status).not.toBe("busy");
    });
    const values = await (
      await post(`${path}/runs/wait`, { assistant_id: "steps", ...quick })
    ).json();
    expect(values).toMatchObject({ log: expect.arrayContaining(["a", "b", "c"]) });
  });
});
