import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { groupRuns } from "../../src/traces/stats/group-service.ts";
import { systemContext } from "../support/deployment.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { batch, projectId, wireRun } from "./support/runs.ts";

type Groups = { groups: Record<string, unknown>[]; total: number };

const NOON = Date.parse("2026-04-05T12:00:00Z");
const DAY = 86_400_000;

let ours: TestWorkspace;
let theirs: TestWorkspace;
let session_id: string;

/** Returns one turn of a conversation: a trace with a model's run. */
function turn(thread_id: string, at: number, text: string, fields: Record<string, unknown> = {}) {
  const extra = { metadata: { thread_id } };
  const root = wireRun(
    "talk",
    { extra, inputs: { text }, outputs: { answer: text }, end_time: at + 1000, ...fields },
    { at },
  );
  const outputs = { usage_metadata: { input_tokens: 3, output_tokens: 1, total_cost: "0.1" } };
  return [root, wireRun("talk", { run_type: "llm", outputs }, { at: at + 1, parent: root })];
}

beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
  const big = "x".repeat(300_000);
  const runs = [
    ...turn("a", NOON, "first"),
    ...turn("b", NOON + 10, big),
    ...turn("a", NOON + DAY, "last", { error: "broke", tags: ["late"] }),
    wireRun("talk", { extra: {} }, { at: NOON + 2 * DAY }),
  ];
  expect((await batch(ours.editor, runs)).status).toBe(202);
  session_id = (await projectId(ours.viewer, "talk")) ?? "";
});

async function groups(json: Record<string, unknown> = {}): Promise<Groups> {
  const body = { session_id, group_by: "conversation", ...json };
  const response = await api("/runs/group", { key: ours.viewer, json: body });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  return JSON.parse(text) as Groups;
}

test("traces of a thread on several days are one group, with their numbers", async () => {
  expect(await groups()).toEqual({
    groups: [
      {
        group_key: "a",
        thread_id: "a",
        filter: 'eq(thread_id, "a")',
        count: 2,
        min_start_time: "2026-04-05T12:00:00.000001Z",
        max_start_time: "2026-04-06T12:00:00.000001Z",
        latency_p50: expect.closeTo(0.999999, 5),
        latency_p99: expect.closeTo(0.999999, 5),
        total_tokens: 8,
        total_cost: "0.2",
        feedback_stats: null,
        first_inputs: '{"text":"first"}',
        last_outputs: '{"answer":"last"}',
        last_error: "broke",
      },
      expect.objectContaining({ group_key: "b", count: 1, total_tokens: 4, last_error: null }),
    ],
    total: 2,
  });
});

test.each([
  [{ limit: 1 }, ["a"], 2],
  [{ limit: 1, offset: 1 }, ["b"], 2],
  [{ offset: 2 }, [], 2],
  [{ filter: 'has(tags, "late")' }, ["a"], 1],
  [{ end_time: "2026-04-05T12:00:00.005Z" }, ["a"], 1],
])("groups of %j are %j", async (json, keys, total) => {
  const found = await groups(json);
  expect([found.groups.map(({ group_key }) => group_key), found.total]).toEqual([keys, total]);
});

describe("groups reject", () => {
  test.each([
    [{ session_id: "x" }, "session_id"],
    [{ group_by: "name" }, "group_by"],
    [{ filter: "eq(" }, "filter"],
    [{ limit: 0 }, "limit"],
  ])("for %j", async (wrong, field) => {
    const json = { session_id, group_by: "conversation", ...wrong };
    const response = await api("/runs/group", { key: ours.viewer, json });
    expect([response.status, await response.text()]).toEqual([422, expect.stringContaining(field)]);
  });

  test("anonymous callers and other workspaces", async () => {
    const json = { session_id, group_by: "conversation" };
    expect((await api("/runs/group", { json })).status).toBe(401);
    expect((await api("/runs/group", { key: theirs.admin, json })).status).toBe(404);
  });
});

test("only the beginning of a large payload is read", async () => {
  const text = `ü${"€\u{1f600}".repeat(50_000)}`;
  expect((await batch(ours.editor, turn("large", NOON + 5 * DAY, text))).status).toBe(202);
  const reads: unknown[] = [];
  const ARTIFACTS = new Proxy(env.ARTIFACTS, {
    get: (bucket, name) =>
      name !== "get"
        ? Reflect.get(bucket, name)
        : async (key: string, options?: R2GetOptions) => {
            const object = await bucket.get(key, options);
            reads.push(object?.range);
            return object;
          },
  });
  const ctx = { ...systemContext(ours.workspace_id, "viewer"), env: { ...env, ARTIFACTS } as Env };
  const filter = 'eq(thread_id, "large")';
  const [group] = (
    await groupRuns(ctx, { session_id, group_by: "conversation", limit: 1, offset: 0, filter })
  ).groups;
  const cut = (json: object) => JSON.stringify(json).slice(0, 1000).toWellFormed();
  expect([group?.first_inputs, group?.last_outputs]).toEqual([
    cut({ text }),
    cut({ answer: text }),
  ]);
  expect(reads).toEqual(Array(2).fill({ offset: 0, length: 3000 }));
});

test("a blank filter is ignored, also in validation", async () => {
  const json = { filter: "  ", trace_filter: "" };
  const response = await api("/runs/query/validate", { key: ours.viewer, json });
  expect(await response.json()).toEqual({ valid: true, errors: [] });
});
