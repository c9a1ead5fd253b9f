import { beforeAll, describe, expect, test } from "vitest";
import { parseExact } from "../../src/traces/exact-json.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { batch, idAt, multipart, patch, post, projectId, read, wireRun } from "./support/runs.ts";

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

const NUMBERS = '{"int":12345678901234567890,"small":7,"long":0.1234567890123456789,"minus":-0}';

async function textOf(id: string): Promise<string> {
  return (await api(`/runs/${id}`, { key: ours.viewer })).text();
}

test.each(Array.from({ length: 20 }, (_, n) => n))(
  "finds a long number at any position, here after %i letters",
  (n) => {
    const number = "12345678901234567";
    const { value, exact } = parseExact(`["${"x".repeat(n)}",${number}]`);
    expect(JSON.stringify(exact)).toContain(number);
    expect(JSON.stringify(value)).not.toContain(number);
  },
);

test.each(Array.from({ length: 20 }, (_, n) => n))(
  "finds an integer of 16 digits that no double holds, here after %i letters",
  (n) => {
    for (const number of ["9007199254740993", "9999999999999999"]) {
      const { value, exact } = parseExact(`["${"x".repeat(n)}",${number}]`);
      expect(JSON.stringify(exact)).toContain(number);
      expect(JSON.stringify(value)).not.toContain(number);
    }
  },
);

test.each(["1e400", "-2.5E+308 ", "1e-400", "5e-0324"])(
  "keeps %s, which no double holds",
  (number) => {
    for (const text of [`[${number}]`, `{"a":${number},"b":1}`, `{"a":{"b":${number}}}`]) {
      expect(JSON.stringify(parseExact(text).exact)).toContain(number.trim());
    }
  },
);

test.each(['"0e123-4"', '"2e400"', "1.5", '"a 1e400, b"'])(
  "reads %s without its source",
  (text) => {
    const { value, exact } = parseExact(`[${text}]`);
    expect(exact).toEqual(value);
  },
);

/** Writes the run with this text as its inputs. */
function written(run: object, inputs: string): string {
  return JSON.stringify({ ...run, inputs: "HERE" }).replace('"HERE"', inputs);
}

describe("numbers beyond a double's precision are returned unchanged", () => {
  const send = (path: string, body: string, method = "POST") =>
    api(path, { key: ours.editor, method, body });

  test("from one run, and from its patch", async () => {
    const run = wireRun("numbers");
    expect((await send("/runs", written(run, NUMBERS))).status).toBe(202);
    expect(await textOf(run.id)).toContain(`"inputs":${NUMBERS}`);
    const body = `{"outputs":${NUMBERS}}`;
    expect((await send(`/runs/${run.id}`, body, "PATCH")).status).toBe(202);
    expect(await textOf(run.id)).toContain(`"outputs":${NUMBERS}`);
  });

  test("from a batch, and in what a query finds", async () => {
    const run = wireRun("batched");
    const plain = wireRun("batched", { inputs: { a: 1 } });
    const body = `{"post":[${JSON.stringify(plain)},${written(run, NUMBERS)}]}`;
    expect((await send("/runs/batch", body)).status).toBe(202);
    expect(await textOf(run.id)).toContain(`"inputs":${NUMBERS}`);
    const json = { session: [await projectId(ours.viewer, "batched")] };
    const page = await (await post(ours.viewer, "/runs/query", json)).text();
    expect(page).toContain(`"inputs":${NUMBERS}`);
    expect(page).toContain('"inputs":{"a":1}');
  });

  test("from a multipart body, in a part of their own and in the run's", async () => {
    const run = wireRun("parted");
    const { inputs: _, ...main } = run;
    const body = await multipart([
      { name: `post.${run.id}`, data: written(main, NUMBERS) },
      { name: `post.${run.id}.outputs`, data: NUMBERS },
    ]);
    const { exports } = await import("cloudflare:workers");
    const response = await exports.default.fetch("https://heddle.test/runs/multipart", {
      method: "POST",
      headers: {
        "X-Api-Key": ours.editor,
        "Content-Type": "multipart/form-data; boundary=----boundary",
      },
      body: body as BodyInit,
    });
    expect(response.status).toBe(202);
    const text = await textOf(run.id);
    expect(text).toContain(`"inputs":${NUMBERS}`);
    expect(text).toContain(`"outputs":${NUMBERS}`);
  });

  test("from metadata that two requests bring together", async () => {
    const run = wireRun("merged", { extra: { metadata: { a: 1 } } });
    await batch(ours.editor, [run]);
    const body = '{"extra":{"metadata":{"big":12345678901234567890}}}';
    expect((await send(`/runs/${run.id}`, body, "PATCH")).status).toBe(202);
    await patch(ours.editor, run.id, { extra: { metadata: { c: 3 } } });
    expect(await textOf(run.id)).toContain('"metadata":{"a":1,"big":12345678901234567890,"c":3}');
  });
});

/** Serializes, so that texts of malformed Unicode can be compared. */
const asText = (value: object) => JSON.stringify(value);

describe("texts are returned unchanged", () => {
  test.each([
    ["a NUL", "a\\u0000b"],
    ["emoji and letters of all kinds", "🙂é漢字\\u202e"],
    ["a lone surrogate", "a\\ud800b"],
    ["control characters", "\\u0001\\u001f\\u007f\\u2028"],
    ["nothing", ""],
  ])("%s, in name, tags, error, payloads and metadata", async (_, escaped) => {
    const text = String(JSON.parse(`"${escaped}"`));
    const fields = {
      name: `n${text}`,
      tags: [`t${text}`],
      error: `e${text}`,
      inputs: { [`k${text}`]: text },
      extra: { metadata: { key: text } },
    };
    const readText = async (id: string) => {
      const { name, tags, error, inputs, extra } = await read(ours.viewer, id);
      return asText({ name, tags, error, inputs, extra });
    };
    const run = wireRun("texts", fields);
    expect((await batch(ours.editor, [run])).status).toBe(202);
    expect(await readText(run.id)).toBe(asText(fields));
    const patched = wireRun("texts", { extra: null });
    await batch(ours.editor, [patched]);
    expect((await patch(ours.editor, patched.id, fields)).status).toBe(202);
    expect(await readText(patched.id)).toBe(asText(fields));
  });
});

describe("a patch without a project", () => {
  test("of a run that has not arrived is stored with its trace", async () => {
    const root = wireRun("traced");
    await batch(ours.editor, [root]);
    const child = wireRun("traced", {}, { parent: root });
    const { id, trace_id, dotted_order } = child;
    const early = { id, trace_id, dotted_order, outputs: { a: 1 } };
    expect((await batch(ours.editor, [], [early])).status).toBe(202);
    await batch(ours.editor, [child]);
    const session_id = await projectId(ours.viewer, "traced");
    expect(await read(ours.viewer, id)).toMatchObject({
      session_id,
      name: "step",
      outputs: { a: 1 },
    });
    expect((await api(`/runs/${idAt(1)}`, { key: ours.viewer })).status).toBe(404);
  });
});

test("a patch that arrives first does not turn a child into a root", async () => {
  const at = Date.parse("2026-05-06T12:00:00Z");
  const root = wireRun("orphan", {}, { at });
  for (const parent of [undefined, root]) {
    const { dotted_order: _, ...run } = wireRun("orphan", { trace_id: root.id }, { at });
    const { id, session_name } = run;
    const sent = parent ? { ...run, parent_run_id: parent.id } : { ...run, trace_id: id };
    expect((await batch(ours.editor, [], [{ id, session_name, outputs: {} }])).status).toBe(202);
    expect((await batch(ours.editor, [sent])).status).toBe(202);
    expect(await read(ours.viewer, id)).toMatchObject({
      start_time: "2026-05-06T12:00:00.000001Z",
      parent_run_ids: parent ? [parent.id] : [],
      dotted_order: parent ? null : `20260506T120000000001Z${id}`,
    });
  }
});

test("a patch in the same request as its post changes the same run, even if its id has another day", async () => {
  const at = Date.parse("2026-05-05T12:00:00Z");
  const later = idAt(at + 86_400_000);
  for (const id of [crypto.randomUUID(), later]) {
    const { dotted_order: _, ...run } = wireRun("beside", { id }, { at });
    const { session_name } = run;
    const answer = await batch(ours.editor, [run], [{ id, session_name, outputs: { a: 1 } }]);
    expect(answer.status).toBe(202);
  }
  const json = { session: [await projectId(ours.viewer, "beside")] };
  const { runs } = await (await post(ours.viewer, "/runs/query", json)).json<{ runs: object[] }>();
  expect(runs).toHaveLength(2);
  for (const run of runs) {
    expect(run).toMatchObject({ inputs: { question: "why" }, outputs: { a: 1 } });
  }
});

test("a run updated in many steps fits its row", async () => {
  const text = "é".repeat(124_000);
  const run = wireRun("piecemeal", { inputs: { text } });
  await batch(ours.editor, [run]);
  const events = [{ name: "end", text }];
  const fields = {
    outputs: { text },
    events,
    serialized: { text },
    extra: { a: text },
    error: "漢".repeat(100_000),
    name: "漢".repeat(1000),
    tags: Array.from({ length: 100 }, (_, n) => `${n}${"漢".repeat(240)}`),
  };
  for (const [name, value] of Object.entries(fields)) {
    const response = await patch(ours.editor, run.id, { [name]: value });
    expect([name, response.status]).toEqual([name, 202]);
  }
  for (const key of ["b", "c", "d"]) {
    const response = await patch(ours.editor, run.id, { extra: { [key]: text } });
    expect(response.status).toBe(202);
  }
  const found = await read(ours.viewer, run.id);
  const { extra: _, ...others } = fields;
  expect(found).toMatchObject({ inputs: { text }, ...others, extra: { d: text } });
});

test("odd numbers of one run leave all answers of its project readable", async () => {
  const { editor: key } = ours;
  const [tokens, cost] = [Number.MAX_SAFE_INTEGER - 1, "9".repeat(30)];
  const usage_metadata = { input_tokens: tokens, total_tokens: tokens, total_cost: cost };
  const extra = { metadata: { thread_id: "t" } };
  const runs = [1e20, -1e300, 2.5].map((execution_order) =>
    wireRun("odd", { execution_order, extra, run_type: "llm", outputs: { usage_metadata } }),
  );
  expect((await batch(key, runs)).status).toBe(202);
  for (const { id } of runs) {
    for (const score of [1e308, 1e308])
      await post(key, "/feedback", { run_id: id, key: "k", score });
  }
  const project_id = await projectId(key, "odd");
  const group = { session_id: project_id, group_by: "conversation" };
  const session = [project_id];
  const answers = await Promise.all([
    post(key, "/runs/query", { session }),
    post(key, "/runs/stats", { session }),
    post(key, "/runs/group", group),
    post(key, "/api/v2/threads/query", { project_id }),
    api(`/sessions/${project_id}?include_stats=true`, { key }),
    api("/sessions?include_stats=true", { key }),
    api(`/runs/${runs[0]?.id}`, { key }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const [page, stats] = answers;
  const found = await page?.json<{ runs: { execution_order: number | null }[] }>();
  expect(found?.runs.map((run) => run.execution_order).toSorted()).toEqual([2, null, null]);
  expect(await stats?.json()).toMatchObject({
    total_tokens: Number.MAX_SAFE_INTEGER,
    cost_p50: expect.stringMatching(/^\d{30,31}$/),
    feedback_stats: { k: { n: 6, avg: null } },
  });
});
