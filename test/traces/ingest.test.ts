import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { countWork } from "../support/counted-work.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import {
  batch,
  catalogue,
  idAt,
  multipart,
  patch,
  post,
  projectId,
  read,
  wireRun,
} from "./support/runs.ts";
import { packZstd } from "./support/zstd.ts";

let ours: TestWorkspace;
let theirs: TestWorkspace;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
});

const END = Date.now() + 1500;

async function accepted(response: Promise<Response>) {
  const answer = await response;
  expect([answer.status, await answer.text()]).toEqual([202, expect.stringContaining("message")]);
}

describe("one run", () => {
  test("returns the fields of its post and its patch", async () => {
    const run = wireRun("single", { name: "root", tags: ["t1"] });
    await accepted(post(ours.editor, "/runs", run));
    expect(await read(ours.viewer, run.id)).toMatchObject({ status: "pending", end_time: null });
    await accepted(
      patch(ours.editor, run.id, {
        end_time: END,
        outputs: { answer: 42 },
        extra: { metadata: { stage: "end" } },
      }),
    );
    expect(await read(ours.viewer, run.id)).toMatchObject({
      id: run.id,
      session_id: await projectId(ours.viewer, "single"),
      name: "root",
      status: "success",
      is_root: true,
      start_time: run.start_time,
      end_time: new Date(END).toISOString().replace("Z", "000Z"),
      inputs: { question: "why" },
      outputs: { answer: 42 },
      tags: ["t1"],
      extra: { metadata: { user_id: "u1", stage: "end" }, runtime: { sdk: "test" } },
      trace_id: run.id,
      parent_run_ids: [],
      child_run_ids: [],
    });
  });

  test("may omit its position in the trace", async () => {
    const [root, child] = [idAt(Date.now()), idAt(Date.now())];
    const base = { session_name: "rest", run_type: "chain", inputs: {} };
    await accepted(post(ours.editor, "/api/v1/runs", { ...base, id: root, name: "root" }));
    await accepted(
      post(ours.editor, "/api/runs", { ...base, id: child, name: "child", parent_run_id: root }),
    );
    expect(await read(ours.viewer, child)).toMatchObject({
      trace_id: root,
      parent_run_id: root,
      parent_run_ids: [root],
      is_root: false,
    });
    expect(await read(ours.viewer, root)).toMatchObject({
      child_run_ids: [child],
      direct_child_run_ids: [child],
    });
  });

  test("below a run whose own parent is missing gets its trace, and no dotted order", async () => {
    const [missing, child, grandchild] = [idAt(Date.now()), idAt(Date.now()), idAt(Date.now())];
    const base = { session_name: "rest", run_type: "chain", inputs: {} };
    await accepted(post(ours.editor, "/runs", { ...base, id: child, parent_run_id: missing }));
    await accepted(post(ours.editor, "/runs", { ...base, id: grandchild, parent_run_id: child }));
    expect(await read(ours.viewer, grandchild)).toMatchObject({
      trace_id: missing,
      parent_run_id: child,
      dotted_order: null,
    });
  });

  test("without a project goes to the default one", async () => {
    const { session_name: _, ...run } = wireRun("");
    await accepted(post(ours.editor, "/runs", run));
    const { session_id } = await read(ours.viewer, run.id);
    expect(session_id).toBe(await projectId(ours.viewer, "default"));
  });

  test("with an id of version 4, days away from today, is found and patched", async () => {
    const id = crypto.randomUUID();
    const run = wireRun("old", { id }, { at: Date.parse("2024-02-29T12:00:00Z") });
    await accepted(post(ours.editor, "/runs", run));
    await accepted(patch(ours.editor, id, { error: "broke", end_time: "2024-02-29T12:00:01" }));
    expect(await read(ours.viewer, id)).toMatchObject({
      status: "error",
      error: "broke",
      end_time: "2024-02-29T12:00:01.000000Z",
    });
  });
});

describe("a patch", () => {
  test("is stored when it precedes its post, which erases none of its fields", async () => {
    const run = wireRun("early", { outputs: null, end_time: null, error: null });
    const { id, trace_id, dotted_order, session_name } = run;
    const fields = { id, trace_id, dotted_order, session_name, end_time: END, outputs: { a: 1 } };
    await accepted(batch(ours.editor, [], [{ ...fields, extra: { metadata: { user_id: "u2" } } }]));
    await accepted(batch(ours.editor, [run]));
    expect(await read(ours.viewer, id)).toMatchObject({
      name: "step",
      status: "success",
      outputs: { a: 1 },
      inputs: { question: "why" },
      extra: { metadata: { user_id: "u2" }, runtime: { sdk: "test" } },
    });
  });

  test("without a project finds its run in any project of the workspace", async () => {
    const run = wireRun("somewhere");
    await accepted(batch(ours.editor, [run]));
    await accepted(batch(ours.editor, [], [{ id: run.id, outputs: { a: 1 } }]));
    const { outputs, session_id } = await read(ours.viewer, run.id);
    expect([outputs, session_id]).toEqual([{ a: 1 }, await projectId(ours.viewer, "somewhere")]);
  });

  test("of an unknown run or a run of another workspace is a 404", async () => {
    const run = wireRun("foreign");
    await accepted(batch(theirs.editor, [run]));
    for (const id of [run.id, idAt(Date.now()), crypto.randomUUID()]) {
      const response = await patch(ours.editor, id, { outputs: {} });
      expect(response.status).toBe(404);
      expect(await response.json()).toEqual({
        error: `Run ID ${id} not found.`,
        details: null,
      });
    }
  });
});

test("repeated requests, and a merged create and update, store one run", async () => {
  const run = wireRun("twice", { end_time: END, outputs: { a: 1 } });
  const child = wireRun("twice", {}, { parent: run });
  for (const _ of [1, 2, 3]) await accepted(batch(ours.editor, [run, child], [{ ...run }]));
  const id = (await projectId(ours.viewer, "twice")) ?? "";
  const [partition] = (await catalogue(id)).results;
  const stub = env.PARTITIONS.getByName(`${id}/${partition?.day}/0`);
  await runDurableObjectAlarm(stub);
  expect((await catalogue(id)).results).toEqual([
    expect.objectContaining({ rows: 2, seq: expect.any(Number), bytes: expect.any(Number) }),
  ]);
  expect((await read(ours.viewer, run.id)).child_run_ids).toEqual([child.id]);
  const project = await api(`/sessions/${id}`, { key: ours.viewer });
  expect(await project.json()).toMatchObject({
    run_count: 1,
    last_run_start_time: child.start_time,
  });
});

test("a patch that names its project changes a run whose id is of another day", async () => {
  const start = Date.now() - 30 * 86_400_000;
  const run = wireRun("imported", { id: idAt(Date.now()) }, { at: start });
  await accepted(batch(ours.editor, [run]));
  const change = { id: run.id, session_name: "imported", end_time: new Date(start).toISOString() };
  await accepted(batch(ours.editor, [], [change]));
  expect(await read(ours.viewer, run.id)).toMatchObject({ status: "success" });
  const { results } = await catalogue((await projectId(ours.viewer, "imported")) ?? "");
  expect(results.map(({ day }) => day)).toEqual([change.end_time.slice(0, 10)]);
});

test("runs near midnight are stored under their own day", async () => {
  const midnight = Date.parse("2026-03-01T00:00:00Z");
  const before = wireRun("night", {}, { at: midnight - 1 });
  // The id is from before midnight, the start from after.
  const after = wireRun("night", { id: idAt(midnight - 1) }, { at: midnight, parent: before });
  await accepted(batch(ours.editor, [before, after]));
  await accepted(
    batch(
      ours.editor,
      [],
      [before, after].map(({ id }) => ({ id, end_time: END })),
    ),
  );
  const days = (await catalogue((await projectId(ours.viewer, "night")) ?? "")).results;
  expect(days.map(({ day }) => day)).toEqual(["2026-02-28", "2026-03-01"]);
  for (const { id } of [before, after]) {
    expect(await read(ours.viewer, id)).toMatchObject({ status: "success" });
  }
});

describe("a multipart body", () => {
  const send = async (
    body: Uint8Array | Promise<Uint8Array>,
    headers: Record<string, string> = {},
    key = ours.editor,
  ) =>
    exportsFetch("/runs/multipart", key, await body, {
      "Content-Type": "multipart/form-data; boundary=----boundary",
      ...headers,
    });

  const parts = (run: Record<string, unknown> & { id: string }) => {
    const { inputs, extra, ...main } = run;
    const data = JSON.stringify(main);
    return [
      { name: `post.${run.id}`, type: `application/json; length=${data.length}`, data },
      { name: `post.${run.id}.inputs`, data: JSON.stringify(inputs) },
      { name: `post.${run.id}.extra`, headers: ["Content-Length: 1"], data: JSON.stringify(extra) },
      { name: `post.${run.id}.outputs`, data: '{"text":"--boundary\\r\\n----boundary"}' },
      {
        name: `attachment.${run.id}.picture`,
        type: "image/png; length=5",
        data: new Uint8Array([0, 13, 10, 45, 45]),
      },
      {
        name: `feedback.${idAt(Date.now())}`,
        data: JSON.stringify({ key: "good", score: 1, run_id: run.id, trace_id: run.id }),
      },
    ];
  };

  test.each([
    ["as it is", {}, (bytes: Uint8Array) => bytes],
    ["gzip", { "Content-Encoding": "gzip" }, gzip],
    ["zstd", { "Content-Encoding": "zstd" }, (bytes: Uint8Array) => packZstd(bytes)],
  ])("%s is taken with attachments and feedback", async (name, headers, pack) => {
    const run = wireRun(`form-${name}`);
    const answer = await send(await pack(await multipart(parts(run))), headers);
    expect([answer.status, await answer.text()]).toEqual([202, expect.any(String)]);
    const found = await read(ours.viewer, run.id);
    expect(found).toMatchObject({
      inputs: { question: "why" },
      outputs: { text: "--boundary\r\n----boundary" },
      extra: { metadata: { user_id: "u1" } },
      feedback_stats: { good: { n: 1, avg: 1 } },
      files: { picture: { content_type: "image/png", bytes: 5 } },
    });
    const { url } = (found.files as Record<string, { url: string }>).picture ?? { url: "" };
    const file = await api(url, { key: ours.viewer });
    expect(file.headers.get("Content-Type")).toBe("image/png");
    expect([...(await file.bytes())]).toEqual([0, 13, 10, 45, 45]);
    expect((await api(url, { key: theirs.viewer })).status).toBe(404);
  });

  test("with a run that is refused names it, and stores the others", async () => {
    const [good, bad] = [wireRun("refused"), { ...wireRun("refused"), run_type: "thing" }];
    const response = await send(multipart([...parts(good), ...parts(bad)]));
    expect(response.status).toBe(422);
    expect(await response.text()).toContain(`post.${bad.id}`);
    expect((await api(`/runs/${good.id}`, { key: ours.viewer })).status).toBe(200);
    expect((await api(`/runs/${bad.id}`, { key: ours.viewer })).status).toBe(404);
  });

  test("with a run that is refused leaves out feedback that names the run in upper case or by its trace", async () => {
    const bad = { ...wireRun("refused"), run_type: "thing" };
    const about = [{ run_id: bad.id.toUpperCase() }, { trace_id: bad.id }];
    const feedback = about.map((named, n) => ({
      name: `feedback.${idAt(n + 1)}`,
      data: JSON.stringify({ key: "k", ...named }),
    }));
    const response = await send(multipart([...parts(bad), ...feedback]));
    const { details } = await response.json<{ details: { loc: unknown[] }[] }>();
    expect(details.map(({ loc }) => loc[1])).toEqual([`post.${bad.id}`]);
  });

  test("with feedback of an unknown run names it, and stores the rest", async () => {
    const run = wireRun("partial");
    const [unknown, known, wrong] = [idAt(1), idAt(2), idAt(3)];
    const response = await send(
      multipart([
        { name: `post.${run.id}`, data: JSON.stringify(run) },
        { name: `feedback.${unknown}`, data: JSON.stringify({ key: "k", run_id: idAt(4) }) },
        { name: `feedback.${wrong}`, data: JSON.stringify({ key: 1, run_id: run.id }) },
        { name: `feedback.${known}`, data: JSON.stringify({ key: "k", score: 1, run_id: run.id }) },
      ]),
    );
    expect(response.status).toBe(422);
    type Refusal = { error: string; details: { loc: unknown[] }[] };
    const { error, details } = await response.json<Refusal>();
    expect(details.map(({ loc }) => loc[1])).toEqual([`feedback.${unknown}`, `feedback.${wrong}`]);
    expect(error).toMatch(/ The other 1 runs are stored\.$/);
    expect(await read(ours.viewer, run.id)).toMatchObject({ feedback_stats: { k: { n: 1 } } });
  });

  test("with much feedback finds its runs at once, and refuses more than 1000 parts", async () => {
    const run = wireRun("rated");
    const feedback = Array.from({ length: 1002 }, (_, n) => ({
      name: `feedback.${idAt(n)}`,
      data: JSON.stringify({ key: "k", score: 1, run_id: run.id }),
    }));
    await accepted(batch(ours.editor, [wireRun("rated")]));
    const counted = await countWork([(await projectId(ours.viewer, "rated")) ?? ""]);
    const response = await send(
      multipart([{ name: `post.${run.id}`, data: JSON.stringify(run) }, ...feedback]),
    );
    const { trace_requests } = counted.stop();
    expect(trace_requests).toBeGreaterThan(1);
    expect(trace_requests).toBeLessThan(10);
    expect(response.status).toBe(422);
    const { details } = await response.json<{ details: { loc: unknown[]; msg: string }[] }>();
    expect(details.map(({ loc }) => loc[1])).toEqual(feedback.slice(1000).map(({ name }) => name));
    expect(details[0]?.msg).toContain("is beyond the 1000 feedback parts of a request");
    expect(await read(ours.viewer, run.id)).toMatchObject({ feedback_stats: { k: { n: 1000 } } });
  });

  test.each([
    ["of an unknown project", { session_id: idAt(1) }, (text: string) => text],
    ["with half JSON", {}, (text: string) => text.slice(0, -1)],
  ])("with a run %s answers a 422 and stores the others", async (_, fields, broken) => {
    const [good, bad] = [wireRun("others"), wireRun("others", fields)];
    const { inputs, ...main } = bad;
    const response = await send(
      multipart([
        { name: `post.${bad.id}.inputs`, data: JSON.stringify(inputs) },
        { name: `post.${bad.id}`, data: broken(JSON.stringify(main)) },
        { name: `attachment.${bad.id}.note`, data: "text" },
        { name: `post.${good.id}`, data: JSON.stringify(good) },
      ]),
    );
    expect([response.status, await response.text()]).toEqual([
      422,
      expect.stringContaining(`post.${bad.id}`),
    ]);
    expect((await api(`/runs/${good.id}`, { key: ours.viewer })).status).toBe(200);
    expect((await api(`/runs/${bad.id}`, { key: ours.viewer })).status).toBe(404);
  });

  test.each([
    ["without its end", async () => (await multipart(parts(wireRun("x")))).slice(0, -20), {}, 400],
    ["that is no gzip", () => multipart([]), { "Content-Encoding": "gzip" }, 400],
    ["that is no zstd", () => multipart([]), { "Content-Encoding": "zstd" }, 400],
    ["packed otherwise", () => multipart([]), { "Content-Encoding": "br" }, 415],
    ["that is JSON", () => multipart([]), { "Content-Type": "application/json" }, 415],
    ["with a strange part", () => multipart([{ name: "put.x", data: "{}" }]), {}, 422],
    ["with no id", () => multipart([{ name: "post.x", data: "{}" }]), {}, 422],
    ["with half JSON", () => multipart([{ name: `post.${idAt(1)}`, data: "{" }]), {}, 422],
    ["of a list", () => multipart([{ name: `post.${idAt(1)}`, data: "[]" }]), {}, 422],
  ])("%s is refused", async (_, body, headers, status) => {
    const response = await send(body(), headers);
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({
      error: expect.any(String),
      details: expect.toSatisfy(() => true),
    });
  });
});

describe("ingestion rejects", () => {
  const run = wireRun("refused");

  test("a run of an unknown project, names it, and stores the other run", async () => {
    const [other, wrong] = [wireRun("refused"), wireRun("refused", { session_id: idAt(1) })];
    const response = await batch(ours.editor, [other, wrong]);
    expect([response.status, await response.text()]).toEqual([
      422,
      expect.stringContaining(`post.${wrong.id}`),
    ]);
    expect((await api(`/runs/${other.id}`, { key: ours.viewer })).status).toBe(200);
  });

  test.each([
    [{ ...run, id: "x" }, "id"],
    [{ ...run, start_time: "yesterday" }, "start_time"],
    [{ ...run, run_type: "thing" }, "run_type"],
    [{ ...run, dotted_order: "1.2" }, "dotted_order"],
    [{ ...run, trace_id: idAt(5) }, "dotted_order"],
    [{ ...run, tags: "a" }, "tags"],
  ])("a wrong field, names it, and stores the other run: %#", async (wrong, field) => {
    const other = wireRun("refused");
    const response = await batch(ours.editor, [other, wrong]);
    expect(response.status).toBe(422);
    type Refusal = { error: string; details: { loc: unknown[] }[] };
    const { error, details } = await response.json<Refusal>();
    expect(details[0]?.loc).toEqual(["body", "post", 1, field]);
    expect(error).toMatch(/ The other 1 runs are stored\.$/);
    expect((await api(`/runs/${other.id}`, { key: ours.viewer })).status).toBe(200);
  });

  test("nothing that can be cut", async () => {
    const tags = ["t".repeat(300), ...Array.from({ length: 120 }, (_, n) => `${n}`)];
    const long = wireRun("p".repeat(300), { name: "n".repeat(2000), tags, execution_order: 1.5 });
    await accepted(batch(ours.editor, [long]));
    const stored = await (await api(`/runs/${long.id}`, { key: ours.viewer })).json<{
      name: string;
      tags: string[];
    }>();
    expect(stored.tags).toEqual(["t".repeat(250), ...tags.slice(1, 100)]);
    expect(stored.name).toBe("n".repeat(1000));
    expect(await projectId(ours.viewer, "p".repeat(255))).toBeDefined();
  });

  test("viewers, anonymous callers, and projects of other workspaces", async () => {
    expect((await batch(ours.viewer, [run])).status).toBe(403);
    expect((await api("/runs/batch", { json: { post: [run] } })).status).toBe(401);
    await accepted(batch(theirs.editor, [wireRun("theirs")]));
    const session_id = await projectId(theirs.viewer, "theirs");
    const response = await batch(ours.editor, [{ ...run, session_id }]);
    expect(response.status).toBe(422);
  });

  test("malformed JSON", async () => {
    const response = await api("/runs/batch", { key: ours.editor, method: "POST", body: "{" });
    expect(response.status).toBe(400);
  });
});

test("a run of another workspace is not found", async () => {
  const run = wireRun("private");
  await accepted(batch(ours.editor, [run]));
  expect((await api(`/runs/${run.id}`, { key: theirs.admin })).status).toBe(404);
});

test("returns a payload over a megabyte unchanged", async () => {
  const text = "é".repeat(700_000);
  const run = wireRun("large", { inputs: { text }, outputs: { text: "small" } });
  await accepted(batch(ours.editor, [run]));
  await accepted(batch(ours.editor, [], [{ id: run.id, outputs: { text } }]));
  const found = await read(ours.viewer, run.id);
  expect([found.inputs, found.outputs]).toEqual([{ text }, { text }]);
});

async function gzip(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function exportsFetch(
  path: string,
  key: string,
  body: Uint8Array,
  headers: Record<string, string>,
) {
  const { exports } = await import("cloudflare:workers");
  return exports.default.fetch(new URL(path, "https://heddle.test"), {
    method: "POST",
    headers: { "X-Api-Key": key, ...headers },
    body: body as BodyInit,
  });
}
