import { expect, test } from "vitest";
import { api, workspace } from "../support/workspace.ts";
import { batch, projectId, type WireRun, wireRun } from "./support/runs.ts";

const NOON = Date.parse("2026-05-05T12:00:00Z");
/** Small batches and large ones: the first and the last are in small segments. */
const BATCHES = [1, 99, 200, 150, 200, 120, 3];

test("metadata, tags and later changes are found in small segments and large ones", async () => {
  const { admin: key } = await workspace();
  const runs: WireRun[] = [];
  const project = "terms";
  const find = async (filter: string) => {
    const session = [await projectId(key, project)];
    const answer = await api("/runs/query", { key, json: { session, filter } });
    return (await answer.json<{ runs: { id: string }[] }>()).runs.map(({ id }) => id);
  };
  const expectFound = async (n: number, name = `"n${n}"`) => {
    const ids = [runs[n]?.id];
    expect(await find(`and(eq(metadata_key, "number"), eq(metadata_value, ${name}))`)).toEqual(ids);
    expect(await find(`has(tags, "t${n}")`)).toEqual(ids);
  };

  for (const count of BATCHES) {
    const from = runs.length;
    const added = Array.from({ length: count }, (_, k) =>
      wireRun(
        project,
        { tags: [`t${from + k}`], extra: { metadata: { number: `n${from + k}` } } },
        { at: NOON + from + k },
      ),
    );
    runs.push(...added);
    expect((await batch(key, added)).status).toBe(202);
    for (const n of new Set([0, from, Math.floor((from + runs.length) / 2), runs.length - 1])) {
      await expectFound(n);
    }
  }

  const changed = [3, 700];
  const patches = changed.map((n) => ({
    id: runs[n]?.id,
    trace_id: runs[n]?.trace_id,
    dotted_order: runs[n]?.dotted_order,
    extra: { metadata: { number: `later ${n}` } },
  }));
  expect((await batch(key, [], patches)).status).toBe(202);
  for (const n of changed) await expectFound(n, `"later ${n}"`);

  const [pair, latest] = [runs[10], runs[770]];
  const metadata = { number: ["n10", "n770"] };
  const json = { session_id: await projectId(key, project), metadata };
  expect((await api("/runs/delete", { key, json })).status).toBe(200);
  for (const run of [pair, latest]) {
    expect((await api(`/runs/${run?.id}`, { key })).status).toBe(404);
  }
  await expectFound(11);
});
