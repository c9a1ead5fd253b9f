import { beforeEach, describe, expect, test } from "vitest";
import { testDeployment } from "../../support/agent-deployment.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

let owner: TestWorkspace;
let agent: string;

// The garbage of several tests would exceed the 128 MB of an isolate.
beforeEach(async () => {
  owner = await workspace();
  agent = `/agents/${(await testDeployment(owner.workspace_id)).deployment_id}`;
});

async function call(path: string, json?: unknown, method?: string) {
  const options = {
    key: owner.editor,
    ...(json !== undefined && { json }),
    ...(method && { method }),
  };
  const response = await api(agent + path, options);
  return { status: response.status, text: await response.text() };
}

async function grow(input: object) {
  const { text } = await call("/threads", {});
  const { thread_id } = JSON.parse(text) as { thread_id: string };
  const T = `/threads/${thread_id}`;
  const run = () => call(`${T}/runs/stream`, { assistant_id: "grows", input });
  return { thread_id, T, run };
}

describe("a state of megabytes is in every answer", () => {
  test.each([
    ["wide", 3],
    ["numbers", 2],
  ])("%s of %d MiB", async (kind, mib) => {
    const { T, thread_id, run } = await grow({ kind, mib, parts: 1 });
    const { text } = await run();
    expect(text).not.toContain("event: error");
    const answers = await Promise.all([
      call(T),
      call(`${T}/state`),
      call(`${T}/history`, { limit: 50 }),
      call("/threads/search", { ids: [thread_id], select: ["thread_id", "status"] }),
      call(T, { metadata: { a: 1 } }, "PATCH"),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    for (const { text } of [answers[0], answers[1], answers[2], answers[4]].map(
      (a) => a ?? { text: "" },
    ))
      expect(text.length).toBeGreaterThan(mib * 1024 * 1024);
    const copy = await call(`${T}/copy`, undefined, "POST");
    expect(copy.status).toBe(200);
    expect(copy.text.length).toBeGreaterThan(mib * 1024 * 1024);
  });
});

test("a state over the limit fails its run at once", async () => {
  const { T, run } = await grow({ kind: "text", mib: 25, parts: 1 });
  const { text } = await run();
  expect(text.match(/event: metadata/g)).toHaveLength(1);
  const error = text.slice(text.indexOf("event: error"));
  expect(error).toContain("StateLimitError");
  expect(error).toMatch(/has 25.0 MiB, more than 24.0 MiB/);
  const answers = [await call(T), await call(`${T}/state`), await call(`${T}/history`, {})];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
});

test("a history ends before the state that takes it over its limit", async () => {
  const { T, run } = await grow({ kind: "wide", mib: 3, parts: 1 });
  await run();
  await run();
  const pages: number[] = [];
  let before: string | undefined;
  for (let states = [{}]; states.length > 0 && pages.length < 20; ) {
    const { status, text } = await call(`${T}/history`, { limit: 50, ...(before && { before }) });
    expect(status).toBe(200);
    states = JSON.parse(text) as { checkpoint: { checkpoint_id: string } }[];
    pages.push(text.length);
    before = (states.at(-1) as { checkpoint?: { checkpoint_id: string } })?.checkpoint
      ?.checkpoint_id;
  }
  expect(Math.max(...pages)).toBeLessThan(12 * 1024 * 1024);
  expect(pages.length).toBeGreaterThan(3);
});
