import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { unpackCells } from "../../src/exports/parquet/cells.ts";
import { contextFor } from "../../src/shared/context.ts";
import { DAY_US } from "../../src/shared/times.ts";
import { planScan, scanChunk } from "../../src/traces/scan/scan-service.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { batch, patch, post, projectId, read, type WireRun, wireRun } from "./support/runs.ts";

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

const used = (input_tokens: number, output_tokens: number, total_cost?: string) => ({
  outputs: {
    usage_metadata: { input_tokens, output_tokens, ...(total_cost ? { total_cost } : {}) },
  },
});
const model = (parent: WireRun, fields: Record<string, unknown> = {}) =>
  wireRun(String(parent.session_name), { run_type: "llm", ...fields }, { parent });

async function save(...runs: WireRun[]) {
  expect((await batch(ours.editor, runs)).status).toBe(202);
}

/** Returns total, prompt and completion tokens, and the total cost. */
async function usageOf({ id }: { id: string }) {
  const run = await read(ours.viewer, id);
  return [run.total_tokens, run.prompt_tokens, run.completion_tokens, run.total_cost];
}

async function find(session_name: string, filter: string): Promise<string[]> {
  const session = [await projectId(ours.viewer, session_name)];
  const response = await post(ours.viewer, "/runs/query", { session, filter, select: ["name"] });
  const { runs } = await response.json<{ runs: { name: string }[] }>();
  return runs.map(({ name }) => name).sort();
}

describe("the usage of a run without own usage", () => {
  test("is the sum of the model calls below it, exact in decimals", async () => {
    const root = wireRun("sums", { name: "root" });
    const agent = wireRun("sums", { name: "agent" }, { parent: root });
    const tool = wireRun("sums", { name: "tool", run_type: "tool" }, { parent: agent });
    const first = model(agent, { name: "first", ...used(10, 5, "0.1") });
    const second = model(root, { name: "second", ...used(1, 2, "0.2") });
    await save(root, agent, tool, first, second);
    expect(await usageOf(root)).toEqual([18, 11, 7, "0.3"]);
    expect(await usageOf(agent)).toEqual([15, 10, 5, "0.1"]);
    expect(await usageOf(tool)).toEqual([null, null, null, null]);
    expect(await find("sums", "gte(total_tokens, 15)")).toEqual(["agent", "first", "root"]);
    expect(await find("sums", "eq(total_cost, 0.3)")).toEqual(["root"]);
    expect(await find("sums", "eq(total_tokens, null)")).toEqual(["tool"]);
  });

  test("counts children before parents, late children, and spans that are sent again", async () => {
    const root = wireRun("orders", { name: "root" });
    const child = model(root);
    await save(model(root, used(1, 1)), { ...child, ...used(2, 2) });
    await save({ ...child, ...used(2, 2) });
    await save(root);
    expect(await usageOf(root)).toEqual([6, 3, 3, null]);
    await save(model(root, used(10, 0)));
    expect(await usageOf(root)).toEqual([16, 13, 3, null]);
    expect((await patch(ours.editor, child.id, used(5, 5))).status).toBe(202);
    expect(await usageOf(root)).toEqual([22, 16, 6, null]);
  });

  test("stays when a change brings none, though metadata has another one", async () => {
    const metadata = { usage_metadata: { input_tokens: 7, output_tokens: 5 } };
    const run = wireRun("notes", { ...used(6, 4), run_type: "llm", extra: { metadata } });
    await save(run);
    expect(await usageOf(run)).toEqual([10, 6, 4, null]);
    await patch(ours.editor, run.id, { extra: { metadata: { note: "read" } } });
    expect(await usageOf(run)).toEqual([10, 6, 4, null]);
    await patch(ours.editor, run.id, { extra: { metadata } });
    expect(await usageOf(run)).toEqual([12, 7, 5, null]);
  });

  test("does not count a parent that repeats its model's usage", async () => {
    const root = wireRun("repeats", { name: "root" });
    const chain = wireRun("repeats", { name: "chain", ...used(4, 1) }, { parent: root });
    const lonely = wireRun(
      "repeats",
      { name: "lonely", run_type: "tool", ...used(2, 0) },
      { parent: root },
    );
    await save(root, chain, lonely, model(chain, used(4, 1)));
    expect(await usageOf(root)).toEqual([7, 6, 1, null]);
  });

  test("stays what the run sent, for tokens and costs alone", async () => {
    const root = wireRun("own", { name: "root", ...used(100, 0) });
    await save(root, model(root, used(1, 1, "0.25")));
    expect(await usageOf(root)).toEqual([100, 100, 0, "0.25"]);
  });

  test("is null where the sum is not an exact integer", async () => {
    const root = wireRun("huge", { name: "root" });
    const most = Number.MAX_SAFE_INTEGER;
    await save(root, ...Array.from({ length: 1100 }, () => model(root, used(most, 0))));
    expect(await usageOf(root)).toEqual([null, null, 0, null]);
  });
});

test("statistics count each model call of a trace once", async () => {
  const root = wireRun("counts", { name: "root" });
  await save(
    root,
    model(root, { name: "model", ...used(3, 1) }),
    model(root, { name: "model", ...used(5, 1) }),
  );
  const session = [await projectId(ours.viewer, "counts")];
  const stats = async (json: object) =>
    (await post(ours.viewer, "/runs/stats", { session, ...json })).json<Record<string, unknown>>();
  for (const query of [
    {},
    { is_root: true },
    { filter: "eq(is_root, true)" },
    { run_type: "llm" },
  ]) {
    expect([query, await stats(query)]).toMatchObject([query, { total_tokens: 10 }]);
  }
  expect(await stats({ group_by: { attribute: "name" } })).toMatchObject({
    root: { total_tokens: 10 },
    model: { total_tokens: 10, run_count: 2 },
  });
});

test("an export has the same usage as an answer", async () => {
  const root = wireRun("exported", { name: "root" });
  await save(root, model(root, used(3, 1, "0.1")), model(root, used(3, 1, "0.2")));
  const project_id = String(await projectId(ours.viewer, "exported"));
  const caller = {
    organization_id: "any",
    workspace_id: ours.workspace_id,
    role: "viewer",
  } as const;
  const actor = { type: "system", job: "test" } as const;
  const ctx = contextFor(env, { ...caller, plan: "plus", actor });
  const now = Date.now() * 1000;
  const range = { project_id, from_us: now - DAY_US, to_us: now + DAY_US };
  const { chunks } = await planScan(ctx, {
    ...{ ...range, filter: "eq(is_root, true)", min_seqs: null },
    ...{ max_rows: 10, max_bytes: 1_000_000 },
  });
  const [chunk] = chunks;
  if (!chunk) throw new Error("There is no chunk");
  const columns = ["id", "total_tokens", "prompt_tokens", "total_cost", "trace_tier"] as const;
  const page = { filter: "eq(is_root, true)", after: null, max_bytes: 1_000_000 };
  const { parts } = await scanChunk(ctx, chunk, { columns, ...page });
  const cells = Object.entries(parts[0]?.columns ?? {}).map(([name, found]) => [
    name,
    unpackCells(found),
  ]);
  expect(Object.fromEntries(cells)).toEqual({
    ...{ id: [root.id], total_tokens: [8], prompt_tokens: [6] },
    ...{ total_cost: ["0.3"], trace_tier: ["longlived"] },
  });
});

describe("the tier of a trace", () => {
  const tierOf = async ({ id }: WireRun) => (await read(ours.viewer, id)).trace_tier;

  test("is the project's, long by default", async () => {
    const json = { name: "brief", trace_tier: "shortlived" };
    expect((await api("/sessions", { key: ours.editor, json })).status).toBe(200);
    const [brief, plain] = [wireRun("brief"), wireRun("plain")];
    await save(brief, plain);
    expect([await tierOf(brief), await tierOf(plain)]).toEqual(["shortlived", "longlived"]);
    expect(await find("brief", 'eq(trace_tier, "shortlived")')).toEqual(["step"]);
  });

  test("is the run's own where it names one, even after its patch", async () => {
    const [first, later] = [wireRun("named", { trace_tier: "shortlived" }), wireRun("named")];
    await save(first);
    expect((await batch(ours.editor, [], [{ ...later, outputs: {} }])).status).toBe(202);
    await save({ ...later, trace_tier: "shortlived" });
    expect([await tierOf(first), await tierOf(later)]).toEqual(["shortlived", "shortlived"]);
  });

  describe("of a workspace", () => {
    const set = (key: string, json: object) => api("/ttl-settings", { key, method: "PUT", json });
    const settingsOf = async (key: string) =>
      (await api("/ttl-settings", { key })).json<Record<string, unknown>[]>();
    const tierIn = async (key: string, project: string) => {
      const run = wireRun(project);
      expect((await batch(key, [run])).status).toBe(202);
      return (await read(key, run.id)).trace_tier;
    };

    test("is that of projects that have none", async () => {
      const [own, other] = [await workspace(), await workspace()];
      expect(await settingsOf(own.viewer)).toMatchObject([
        {
          default_trace_tier: "longlived",
          configured_by: "system",
          tenant_id: own.workspace_id,
          shortlived_days: 14,
          longlived_days: 400,
        },
      ]);
      const json = { name: "kept", trace_tier: "longlived" };
      expect((await api("/sessions", { key: own.editor, json })).status).toBe(200);
      const change = { default_trace_tier: "shortlived" };
      expect((await set(own.editor, change)).status).toBe(403);
      expect(await tierIn(own.editor, "plain")).toBe("longlived");

      expect(await (await set(own.admin, change)).json()).toMatchObject({
        ...change,
        configured_by: "user",
        apply_to_all_projects: false,
      });
      const tiers = [await tierIn(own.editor, "plain"), await tierIn(own.editor, "kept")];
      expect(tiers).toEqual(["shortlived", "longlived"]);
      expect(await tierIn(other.editor, "plain")).toBe("longlived");

      const of_other = { ...change, tenant_id: other.workspace_id };
      expect((await set(own.admin, of_other)).status).toBe(403);
      expect(await settingsOf(other.viewer)).toMatchObject([{ configured_by: "system" }]);
    });

    test("is that of a project again once its own is set to null", async () => {
      const own = await workspace();
      await set(own.admin, { default_trace_tier: "shortlived" });
      const made = { name: "kept", trace_tier: "longlived" };
      const project = await api("/sessions", { key: own.editor, json: made });
      const { id } = await project.json<{ id: string }>();
      const change = async (json: object) => {
        const answer = await api(`/sessions/${id}`, { key: own.editor, method: "PATCH", json });
        return (await answer.json<{ trace_tier: string | null }>()).trace_tier;
      };
      expect(await change({ name: null, description: "new" })).toBe("longlived");
      expect(await tierIn(own.editor, "kept")).toBe("longlived");
      expect(await change({ trace_tier: null })).toBeNull();
      expect(await tierIn(own.editor, "kept")).toBe("shortlived");
      const upserted = { key: own.editor, json: { ...made, trace_tier: null } };
      expect(await change({ trace_tier: "longlived" })).toBe("longlived");
      expect((await api("/sessions?upsert=true", upserted)).status).toBe(200);
      expect(await tierIn(own.editor, "kept")).toBe("longlived");
    });

    test("replaces that of all projects with apply_to_all_projects", async () => {
      const [own, other] = [await workspace(), await workspace()];
      const json = { name: "kept", trace_tier: "longlived" };
      for (const { editor: key } of [own, other]) await api("/sessions", { key, json });
      const change = { default_trace_tier: "shortlived", apply_to_all_projects: true };
      expect((await set(own.admin, change)).status).toBe(200);
      const tiers = [await tierIn(own.editor, "kept"), await tierIn(other.editor, "kept")];
      expect(tiers).toEqual(["shortlived", "longlived"]);
    });
  });
});
