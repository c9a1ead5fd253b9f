import { beforeAll, expect, test } from "vitest";
import { testDeployment } from "../../support/agent-deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Metrics = { threads: Record<string, number>; queue: Record<string, number> | null };

let ours: TestWorkspace;
let ids: Awaited<ReturnType<typeof testDeployment>>;
let agent: string;
beforeAll(async () => {
  ours = await workspace();
  ids = await testDeployment(ours.workspace_id);
  agent = `/agents/${ids.deployment_id}`;
});

const post = async <T>(path: string, json: unknown) =>
  (await api(`${agent}${path}`, { key: ours.editor, json })).json<T>();

async function metrics(path = agent, key = ours.viewer): Promise<Metrics> {
  const response = await api(`${path}/metrics?format=json`, { key });
  expect(response.status).toBe(200);
  return response.json();
}

/** Each name with its labels -> its value. */
function samplesOf(text: string): Record<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(" ")),
      Number(line.slice(line.lastIndexOf(" "))),
    ]),
  );
}

test("counts threads and runs by status, for Prometheus and as JSON", async () => {
  const later = { assistant_id: "echo", input: {}, after_seconds: 3600 };
  const interrupting = { assistant_id: "ask", input: {} };
  const newThread = async () => (await post<{ thread_id: string }>("/threads", {})).thread_id;
  const [waits, interrupts] = [await newThread(), await newThread(), await newThread()];
  await post(`/threads/${waits}/runs`, later);
  await post(`/threads/${waits}/runs`, later);
  await post(`/threads/${interrupts}/runs/wait`, interrupting);
  await eventually(async () => {
    const { threads, queue } = await metrics();
    expect(threads).toEqual({ idle: 1, busy: 1, interrupted: 1, error: 0 });
    // Not due yet: waiting, and for no time at all.
    expect(queue).toEqual({ n_pending: 2, n_running: 0, pending_runs_wait_time_max_secs: 0 });
  });
  const response = await api(`${agent}/metrics`, { key: ours.viewer });
  expect(response.headers.get("Content-Type")).toContain("version=0.0.4");
  const labels = `project_id="${ids.deployment_id}",revision_id="${ids.revision_id}"`;
  expect(samplesOf(await response.text())).toMatchObject({
    [`heddle_threads{${labels},status="interrupted"}`]: 1,
    [`lg_api_num_pending_runs{${labels}}`]: 2,
    [`lg_api_num_running_runs{${labels}}`]: 0,
    [`lg_api_pending_runs_wait_time_max{${labels}}`]: 0,
  });
});

test("a run that waits behind another is counted with its waiting time", async () => {
  const { deployment_id } = await testDeployment(ours.workspace_id);
  const path = `/agents/${deployment_id}`;
  const send = async (to: string, json: unknown) =>
    (await api(`${path}${to}`, { key: ours.editor, json })).json<{ thread_id: string }>();
  const { thread_id } = await send("/threads", {});
  const slow = { assistant_id: "steps", input: { delay_ms: 60_000 } };
  await send(`/threads/${thread_id}/runs`, slow);
  await send(`/threads/${thread_id}/runs`, slow);
  await eventually(async () => {
    const { queue } = await metrics(path);
    expect(queue).toMatchObject({ n_pending: 1, n_running: 1 });
    expect(queue?.pending_runs_wait_time_max_secs).toBeGreaterThan(0);
  });
  const removed = await api(`${path}/threads/${thread_id}`, {
    key: ours.editor,
    method: "DELETE",
  });
  expect(removed.status).toBe(204);
  expect(await metrics(path)).toMatchObject({
    threads: { busy: 0 },
    queue: { n_pending: 0, n_running: 0 },
  });
});

test("an unknown format is refused", async () => {
  const response = await api(`${agent}/metrics?format=xml`, { key: ours.viewer });
  expect(response.status).toBe(422);
  expect(await response.text()).toContain("format");
});
