import { env } from "cloudflare:workers";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { createFeedbackUrl } from "../../../src/traces/feedback/feedback-url-service.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Feedback = { key: string; score: unknown; comment: string | null };

let ours: TestWorkspace;
let agent: string;
beforeAll(async () => {
  ours = await workspace();
  agent = `/agents/${(await testDeployment(ours.workspace_id)).deployment_id}`;
});
afterEach(() => void vi.useRealTimers());

const pathOf = (url: string) => new URL(url).pathname + new URL(url).search;

async function run(graph: string, feedback_keys?: string[]) {
  const json = { assistant_id: graph, input: { messages: [], log: [] }, feedback_keys };
  const response = await api(`${agent}/runs/stream`, { key: ours.editor, json });
  const run_id = response.headers.get("Content-Location")?.split("/").at(-1) ?? "";
  const frames = (await response.text()).trim().split("\n\n");
  const [event = "", data = ""] = frames.at(-1)?.split("\n") ?? [];
  return { run_id, last: event.slice("event: ".length), data: JSON.parse(data.slice(6)) };
}

async function given(run_id: string): Promise<Feedback[]> {
  return (await api(`/feedback?run=${run_id}`, { key: ours.viewer })).json();
}

test("a run with feedback_keys ends with a URL for each key, valid for one rating", async () => {
  const { run_id, last, data } = await run("echo", ["good", "useful"]);
  expect(last).toBe("feedback");
  const urls = data as Record<string, string>;
  expect(Object.keys(urls)).toEqual(["good", "useful"]);
  const [good = "", useful = ""] = Object.values(urls).map(pathOf);
  // Its trace is delivered a moment later.
  await eventually(async () => expect((await api(`${good}?score=1`)).status).toBe(200));
  expect((await api(good, { json: { score: 0, comment: "on second thoughts" } })).status).toBe(200);
  expect((await api(useful, { json: { score: 1 } })).status).toBe(200);
  const rows = (await given(run_id)).sort((a, b) => a.key.localeCompare(b.key));
  expect(rows).toMatchObject([
    { key: "good", score: 0, comment: "on second thoughts" },
    { key: "useful", score: 1 },
  ]);
  expect((await api(`${good}?score=much`)).status).toBe(422);
});

test("a run that failed ends with its error, and one without keys with its values", async () => {
  expect((await run("fails", ["good"])).last).toBe("error");
  expect((await run("echo")).last).toBe("values");
});

test("a URL is good as it was given, and for a day", async () => {
  const about = { workspace_id: ours.workspace_id, run_id: crypto.randomUUID(), key: "good" };
  const url = pathOf(await createFeedbackUrl(env, "https://heddle.test", about));
  expect((await api(url, { json: { score: 1 } })).status).toBe(404);
  const [claim = "", ...signature] = url.split("/").at(-1)?.split(".") ?? [];
  const other = btoa(atob(claim).replace('"good"', '"best"')).replace(/=+$/, "");
  for (const token of [[other, ...signature].join("."), claim, "x", `${claim}.test.00`]) {
    const refused = await api(`/api/v1/feedback/tokens/${token}`, { json: { score: 1 } });
    expect([token, refused.status]).toEqual([token, 403]);
  }
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 25 * 3600 * 1000 });
  const old = pathOf(await createFeedbackUrl(env, "https://heddle.test", about));
  vi.useRealTimers();
  const late = await api(old, { json: { score: 1 } });
  expect([late.status, await late.text()]).toEqual([403, expect.stringContaining("24 hours")]);
});
