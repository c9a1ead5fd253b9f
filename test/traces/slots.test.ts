import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { toIncoming } from "../../src/traces/ingest/incoming.ts";
import { MAX_PARTITION_BYTES } from "../../src/traces/limits.ts";
import { tracePartition } from "../../src/traces/object/stub.ts";
import { api, workspace } from "../support/workspace.ts";
import { batch, catalogue, read, wireRun } from "./support/runs.ts";

const day = "2026-02-03";
const NOON = Date.parse(`${day}T12:00:00Z`);

test("a day that outgrows its object opens the next slot, and older runs stay in theirs", async () => {
  const ours = await workspace();
  const made = await api("/sessions", { key: ours.editor, json: { name: "large" } });
  const { id: project_id } = await made.json<{ id: string }>();
  await env.DB.prepare(
    `INSERT INTO partitions (project_id, day, slot, workspace_id, rows, bytes, seq, roots, updated_at)
     VALUES (?, ?, 0, ?, 1, ?, 1, 1, '')`,
  )
    .bind(project_id, day, ours.workspace_id, MAX_PARTITION_BYTES + 1)
    .run();
  const [full, open] = [0, 1].map((slot) => ({ project_id, day, slot }));
  if (!full || !open) throw new Error("No slots");
  const root = wireRun("large", {}, { at: NOON });
  const { session_id: _, session_name: __, ...change } = toIncoming(root, "post", []);
  await tracePartition(env, full).ingest(full, [change], false);

  const child = wireRun("large", { outputs: { b: 1 } }, { at: NOON + 1, parent: root });
  const patches = [{ id: root.id, outputs: { a: 1 }, end_time: NOON + 9 }];
  expect((await batch(ours.editor, [child], patches)).status).toBe(202);
  expect((await catalogue(project_id)).results.map(({ slot }) => slot)).toEqual([0, 1]);
  const ids = [root.id, child.id];
  expect(await tracePartition(env, full).hasRuns(ids)).toEqual([root.id]);
  expect(await tracePartition(env, open).hasRuns(ids)).toEqual([child.id]);

  expect(await read(ours.viewer, root.id)).toMatchObject({
    outputs: { a: 1 },
    child_run_ids: [child.id],
  });
  const post = async (path: string, json: object) =>
    (await api(path, { key: ours.admin, json: { ...json, session: [project_id] } })).json();
  expect(await post("/runs/query", { select: ["outputs"], order: "asc" })).toMatchObject({
    runs: [{ outputs: { a: 1 } }, { outputs: { b: 1 } }],
  });
  expect(await post("/runs/stats", {})).toMatchObject({ run_count: 2 });
  const trace = { session_id: project_id, trace_ids: [root.id] };
  expect(await post("/runs/delete", trace)).toEqual({ message: "2 runs deleted." });
});
