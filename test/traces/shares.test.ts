import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { dayOf, nowMicros } from "../../src/shared/times.ts";
import { tracePartition } from "../../src/traces/object/stub.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { batch, idAt, projectId, read, type WireRun, wireRun } from "./support/runs.ts";

type Share = { run_id: string; share_token: string; url: string };
type Page = { runs: Record<string, unknown>[]; cursors: { next: string | null } };

const EVIL = `<script>alert(1)</script>"'&\u202egpj.exe\u0000`;

let ours: TestWorkspace;
let theirs: TestWorkspace;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
});

async function trace(project: string, fields: Record<string, unknown> = {}) {
  const at = Date.now();
  const root = wireRun(project, { name: "root", ...fields }, { at });
  const child = wireRun(
    project,
    { name: "model", run_type: "llm", outputs: { answer: "because" } },
    { parent: root, at: at + 1 },
  );
  expect((await batch(ours.editor, [root, child])).status).toBe(202);
  return { root, child };
}

async function share(run: WireRun): Promise<Share> {
  const answer = await api(`/runs/${run.id}/share`, { key: ours.editor, method: "PUT" });
  expect(answer.status).toBe(200);
  return answer.json();
}

const path = ({ share_token }: Share, rest: string) => `/public/${share_token}/${rest}`;
const status = async (url: string) => (await api(url)).status;

describe("the link of a trace", () => {
  test("is one for all runs of the trace, and is read back until it is revoked", async () => {
    const { root, child } = await trace("linked");
    const other = await trace("linked");
    const [first, again, third] = [await share(root), await share(child), await share(other.root)];
    expect(again).toEqual(first);
    expect(third.share_token).not.toBe(first.share_token);
    expect(first).toEqual({
      run_id: root.id,
      share_token: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      url: expect.stringMatching(`/public/${first.share_token}/r$`),
    });
    const link = async () =>
      (await api(`/runs/${child.id}/share`, { key: ours.viewer })).json<Share | null>();
    expect(await link()).toEqual(first);
    expect((await api(path(first, "run"))).status).toBe(200);
    for (const _ of [1, 2]) {
      const call = { key: ours.editor, method: "DELETE" };
      expect((await api(`/runs/${root.id}/share`, call)).status).toBe(204);
    }
    expect(await link()).toBeNull();
    for (const rest of ["run", "runs", `run/${child.id}`, "r"]) {
      expect(await status(path(first, rest))).toBe(404);
    }
    expect(await status(path(third, "run"))).toBe(200);
    expect((await share(root)).share_token).not.toBe(first.share_token);
  });

  test("leads to the page of a missing link when its trace has no runs left", async () => {
    const { root } = await trace("expired");
    const made = await share(root);
    const session_id = await projectId(ours.viewer, "expired");
    const partition = { project_id: String(session_id), day: dayOf(nowMicros()), slot: 0 };
    await tracePartition(env, partition).deleteTraces(partition, [root.id]);
    const page = await api(path(made, "r"));
    expect([page.status, page.headers.get("content-type")]).toEqual([
      404,
      "text/html; charset=utf-8",
    ]);
  });

  test("is chosen by the server, and its token is not in the database", async () => {
    const { root } = await trace("chosen");
    const share_token = crypto.randomUUID();
    const call = { key: ours.editor, method: "PUT", body: JSON.stringify({ share_token }) };
    const made = await (await api(`/runs/${root.id}/share`, call)).json<Share>();
    expect(made.share_token).not.toBe(share_token);
    const rows = await env.DB.prepare("SELECT * FROM trace_shares WHERE trace_id = ?")
      .bind(root.id)
      .all();
    expect(rows.results).toHaveLength(1);
    expect(JSON.stringify(rows.results)).not.toContain(made.share_token);
  });

  test("is for editors of the trace's workspace", async () => {
    const { root } = await trace("owned");
    const call = (key: string, method: string) => api(`/runs/${root.id}/share`, { key, method });
    for (const method of ["PUT", "DELETE"]) {
      expect((await call(ours.viewer, method)).status).toBe(403);
      expect((await call(theirs.admin, method)).status).toBe(404);
    }
    expect((await call(theirs.admin, "GET")).status).toBe(404);
    const made = await share(root);
    await call(theirs.admin, "DELETE");
    expect(await status(path(made, "run"))).toBe(200);
  });

  test("works when its encryption key is removed, until it is revoked", async () => {
    const { root } = await trace("rotated");
    const made = await share(root);
    // No key derives the token of another id.
    await env.DB.prepare("UPDATE trace_shares SET id = ? WHERE trace_id = ?")
      .bind(crypto.randomUUID(), root.id)
      .run();
    const call = (method: string) => api(`/runs/${root.id}/share`, { key: ours.editor, method });
    for (const method of ["GET", "PUT"]) {
      const answer = await call(method);
      expect([answer.status, await answer.text()]).toEqual([
        409,
        expect.stringContaining("revoke"),
      ]);
    }
    expect(await status(path(made, "run"))).toBe(200);
    expect((await call("DELETE")).status).toBe(204);
    expect((await share(root)).share_token).not.toBe(made.share_token);
    expect(await status(path(made, "run"))).toBe(404);
  });

  test("is written to the audit log", async () => {
    const { root } = await trace("audited");
    await share(root);
    const logs = await (await api("/v1/audit-logs", { key: ours.admin })).text();
    expect(logs).toContain("createTraceShare");
    expect(logs).toContain(root.id);
  });

  test("ends with its trace and with its project, also for a trace sent again", async () => {
    const { root } = await trace("ended");
    const made = await share(root);
    const session_id = await projectId(ours.viewer, "ended");
    const json = { session_id, trace_ids: [root.id] };
    await api("/runs/delete", { key: ours.admin, json });
    expect(await status(path(made, "run"))).toBe(404);
    await batch(ours.editor, [root]);
    expect(await status(path(made, "run"))).toBe(404);
    const again = await share(root);
    await api(`/sessions/${session_id}`, { key: ours.admin, method: "DELETE" });
    for (const rest of ["run", "runs", "r"]) expect(await status(path(again, rest))).toBe(404);
  });

  test("outlives a deletion of the same id in another project", async () => {
    const { root } = await trace("stays");
    await trace("elsewhere");
    const made = await share(root);
    const session_id = await projectId(ours.viewer, "elsewhere");
    await api("/runs/delete", { key: ours.admin, json: { session_id, trace_ids: [root.id] } });
    expect(await status(path(made, "run"))).toBe(200);
  });
});

describe("a shared trace", () => {
  test("is read without a key: the root, one run, all runs", async () => {
    const { root, child } = await trace("read");
    const made = await share(root);
    const get = async (rest: string) => (await api(path(made, rest))).json<{ id: string }>();
    expect(await get("run")).toMatchObject({ id: root.id, inputs: { question: "why" } });
    expect(await get(`run/${child.id}`)).toMatchObject({ outputs: { answer: "because" } });
    const ids = async (rest: string) =>
      (await (await api(path(made, rest))).json<{ id: string }[]>()).map(({ id }) => id);
    expect(await ids("runs")).toEqual([root.id, child.id]);
    expect(await ids(`runs?id=${child.id}`)).toEqual([child.id]);
    const inPath = `runsshare_token=${made.share_token}`;
    expect(await ids(inPath)).toEqual([root.id, child.id]);
    expect(await ids(`${inPath}&id=${child.id}`)).toEqual([child.id]);
    expect(await status(path(made, `${inPath}&id=none`))).toBe(422);
  });

  test("is read by page", async () => {
    const { root, child } = await trace("paged");
    const made = await share(root);
    const page = async (json: unknown) =>
      (await api(path(made, "runs/query"), { json })).json<Page>();
    const first = await page({ limit: 1 });
    const second = await page({ limit: 1, cursor: first.cursors.next });
    expect([first, second]).toMatchObject([
      { runs: [{ id: root.id }], cursors: { next: expect.any(String) } },
      { runs: [{ id: child.id }], cursors: { next: null } },
    ]);
  });

  test("shows no run of another trace, and no other token shows it", async () => {
    const [{ root }, other] = [await trace("apart"), await trace("apart")];
    const made = await share(root);
    const json = { id: [other.root.id] };
    expect(await status(path(made, `run/${other.root.id}`))).toBe(404);
    expect((await api(path(made, "runs/query"), { json })).status).toBe(404);
    expect(await status(`/api/v2/public/${made.share_token}/run/${other.root.id}`)).toBe(404);
    for (const token of [crypto.randomUUID(), root.id, ours.workspace_id]) {
      expect(await status(`/public/${token}/run`)).toBe(404);
    }
    expect(await status("/public/none/run")).toBe(422);
  });

  test("is read by ids in their order, each once, as far as one answer holds", async () => {
    const text = "x".repeat(9_000_000);
    const { root, child } = await trace("by-id", { outputs: { text } });
    const large = wireRun("by-id", { outputs: { text } }, { parent: root });
    await batch(ours.editor, [large]);
    const made = await share(root);
    const query = (...id: string[]) => api(path(made, "runs/query"), { json: { id } });
    const { runs } = await (await query(child.id, root.id, child.id)).json<Page>();
    expect(runs.map(({ id }) => id)).toEqual([child.id, root.id]);
    const both = await query(root.id, large.id);
    expect([both.status, await both.text()]).toEqual([413, expect.stringContaining("fewer ids")]);
  });

  test("shows what ran, and nothing of the workspace", async () => {
    const secret = `secret-${crypto.randomUUID()}`;
    const { root } = await trace("bare", {
      extra: { metadata: { token: secret, thread_id: secret }, runtime: { key: secret } },
      serialized: { kwargs: { api_key: secret } },
      events: [{ name: "event", secret }],
    });
    await api("/feedback", {
      key: ours.editor,
      json: { run_id: root.id, key: "k", value: secret },
    });
    const { session_id } = await read(ours.viewer, root.id);
    const made = await share(root);
    const v2 = `/api/v2/public/${made.share_token}`;
    const selects = { json: { selects: ["NAME", "EXTRA", "METADATA", "EVENTS", "PROJECT_ID"] } };
    const answers = await Promise.all([
      ...["run", "runs", "r"].map((rest) => api(path(made, rest))),
      api(`${v2}/runs/query`, selects),
      api(`${v2}/run/${root.id}`),
    ]);
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(answer.headers.get("X-Robots-Tag")).toBe("noindex, nofollow");
      expect(answer.headers.get("Cache-Control")).toBe("no-store");
      const text = await answer.text();
      expect(text).toContain("root");
      for (const hidden of [secret, session_id, ours.workspace_id]) {
        expect(text).not.toContain(hidden);
      }
    }
  });

  test("is read by the newer calls of the SDK", async () => {
    const { root, child } = await trace("newer");
    const key = ours.editor;
    const json = { session_id: await projectId(key, "newer"), trace_id: root.id };
    const made = await (await api(`/api/v2/runs/${child.id}/share`, { key, json })).json<Share>();
    expect(made).toEqual({ share_token: (await share(root)).share_token });
    const v2 = `/api/v2/public/${made.share_token}`;
    const query = await api(`${v2}/runs/query`, { json: { selects: ["NAME", "RUN_TYPE"] } });
    expect(await query.json()).toMatchObject({
      items: [
        { id: root.id, name: "root", run_type: "CHAIN" },
        { id: child.id, name: "model", run_type: "LLM" },
      ],
      has_more: false,
    });
    const one = await api(`${v2}/run/${child.id}?selects=NAME&selects=STATUS`);
    expect(await one.json()).toEqual({ id: child.id, name: "model", status: "PENDING" });
    const withUrl = `/api/v2/runs/${child.id}?selects=SHARE_URL`;
    expect(await (await api(withUrl, { key })).json()).toEqual({
      id: child.id,
      share_url: expect.stringContaining(made.share_token),
    });
    const gone = await api(`/api/v2/runs/${root.id}/share`, { key, method: "DELETE", json });
    expect(gone.status).toBe(204);
    expect(await (await api(withUrl, { key })).json()).toEqual({ id: child.id });
  });
});

describe("the page of a link", () => {
  async function open(made: Share) {
    const answer = await api(path(made, "r"));
    return { answer, html: await answer.text() };
  }

  test("shows the runs as a tree, without a script", async () => {
    const { root } = await trace("page", { outputs: { text: "done" }, error: "it broke" });
    const { answer, html } = await open(await share(root));
    expect([answer.status, answer.headers.get("Content-Type")]).toEqual([
      200,
      "text/html; charset=utf-8",
    ]);
    const policy = answer.headers.get("Content-Security-Policy") ?? "";
    expect(policy).toMatch(/default-src 'none'/);
    expect(policy).not.toMatch(/script-src|unsafe/);
    expect(answer.headers.get("Referrer-Policy")).toBe("no-referrer");
    expect(html).toMatch(/<li class="d0">.*<bdi>root<\/bdi>.*it broke.*<li class="d1">.*model/s);
    expect(html).toContain("2 runs. These are all.");
    expect(html).toContain('name="robots" content="noindex, nofollow"');
    expect(html).not.toMatch(/<script|\son\w+=|style=/);
  });

  test("shows runs whose payloads together are larger than an answer", async () => {
    const at = Date.now();
    const root = wireRun("large-page", { name: "root" }, { at });
    expect((await batch(ours.editor, [root])).status).toBe(202);
    for (let n = 1; n <= 3; n++) {
      const fields = { name: `large-${n}`, outputs: { text: "x".repeat(7_000_000) } };
      const child = wireRun("large-page", fields, { parent: root, at: at + n });
      expect((await batch(ours.editor, [child])).status).toBe(202);
    }
    const { html } = await open(await share(root));
    for (const n of [1, 2, 3]) expect(html).toContain(`large-${n}`);
    expect(html.match(/7000011 bytes: read them by the API/g)).toHaveLength(3);
  });

  test("keeps hostile content as text", async () => {
    const { root } = await trace("hostile", {
      name: EVIL,
      inputs: { [EVIL]: EVIL },
      outputs: { text: `</pre>${EVIL}` },
      error: EVIL,
    });
    const { html } = await open(await share(root));
    expect(html).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(html).not.toMatch(/<script|<\/pre>&lt;script.*<\/pre>\s*<script/);
    expect(html.match(/<pre>/g)).toHaveLength(html.match(/<\/pre>/g)?.length ?? 0);
    expect(html).toMatch(/<h1><bdi>.*<\/bdi><\/h1>/s);
  });

  test("states its limits, and what it leaves out", async () => {
    const root = wireRun("limits", {
      inputs: { long: "a".repeat(50_000) },
      outputs: { huge: "b".repeat(300_000) },
    });
    const at = Date.now();
    const children = Array.from({ length: 520 }, (_, n) =>
      wireRun("limits", { name: `child ${n}`, id: idAt(at + n) }, { parent: root, at: at + n }),
    );
    await batch(ours.editor, [root, ...children]);
    const { html } = await open(await share(root));
    expect(html.match(/<li /g)).toHaveLength(500);
    expect(html).toContain("500 runs. The trace has more.");
    expect(html).toMatch(/\[\d+ more characters\]/);
    expect(html).toMatch(/\d+ bytes: read them by the API/);
    expect(html).not.toContain("bbbb");
  });

  test("answers a page for a link that does not exist", async () => {
    for (const token of [crypto.randomUUID(), "none", EVIL]) {
      const answer = await api(`/public/${encodeURIComponent(token)}/r`);
      expect([answer.status, answer.headers.get("X-Robots-Tag")]).toEqual([
        404,
        "noindex, nofollow",
      ]);
      expect(await answer.text()).toContain("Link not found");
    }
  });
});
