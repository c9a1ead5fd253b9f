import { beforeAll, describe, expect, inject, test } from "vitest";
import type { BulkExport, BulkExportLimits } from "../../src/exports/schema.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { post } from "../traces/support/runs.ts";

const PATH = "/api/v1/bulk-exports";
const UNKNOWN_ID = "0197f000-0000-7000-8000-000000000000";
const s3 = inject("s3");

type Setting = { owner: TestWorkspace; destination: string; project: string };
let ours: Setting;
let theirs: Setting;

beforeAll(async () => {
  [ours, theirs] = await Promise.all([setting(), setting()]);
});

async function setting(): Promise<Setting> {
  const owner = await workspace({ plan: "plus" });
  const { access_key_id, secret_access_key } = s3;
  const made = await post(owner.admin, `${PATH}/destinations`, {
    destination_type: "s3",
    display_name: "bucket",
    config: { bucket_name: s3.bucket, endpoint_url: s3.endpoint, region: s3.region, prefix: "w" },
    credentials: { access_key_id, secret_access_key },
  });
  const project = await post(owner.admin, "/api/v1/sessions", { name: "exported" });
  const [{ id: destination }, { id }] = await Promise.all([
    made.json<{ id: string }>(),
    project.json<{ id: string }>(),
  ]);
  return { owner, destination, project: id };
}

function order(fields: Record<string, unknown> = {}) {
  return {
    bulk_export_destination_id: ours.destination,
    session_id: ours.project,
    start_time: "2026-01-01T00:00:00Z",
    end_time: "2026-01-03T12:00:00.000001Z",
    ...fields,
  };
}

async function create(fields: Record<string, unknown> = {}): Promise<BulkExport> {
  const response = await post(ours.owner.admin, PATH, order(fields));
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  return JSON.parse(text) as BulkExport;
}

async function get(id: string): Promise<BulkExport> {
  return (await api(`${PATH}/${id}`, { key: ours.owner.viewer })).json<BulkExport>();
}

describe("an order", () => {
  test("returns every key, `null` where omitted", async () => {
    const made = await create();
    expect(made).toEqual({
      id: expect.any(String),
      tenant_id: ours.owner.workspace_id,
      bulk_export_destination_id: ours.destination,
      session_id: ours.project,
      start_time: "2026-01-01T00:00:00.000000Z",
      end_time: "2026-01-03T12:00:00.000001Z",
      interval_hours: null,
      filter: null,
      export_fields: null,
      format: "Parquet",
      format_version: "v1",
      compression: "zstandard",
      all_experiments: null,
      late_rows: false,
      table_format: null,
      status: "CREATED",
      error: null,
      source_bulk_export_id: null,
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
      finished_at: null,
      progress: expect.objectContaining({ phase: "queued", fraction: null }),
    });
  });

  test("that ends in the future has a warning, and a schedule has none", async () => {
    const future = await post(ours.owner.admin, PATH, order({ end_time: "2040-01-01T00:00:00Z" }));
    expect([future.status, future.headers.get("X-Heddle-Warning")]).toEqual([
      200,
      expect.stringMatching(/^end_time is in the future: .* interval_hours\.$/),
    ]);
    for (const fields of [{}, { end_time: undefined, interval_hours: 6 }]) {
      const { headers } = await post(ours.owner.admin, PATH, order(fields));
      expect(headers.get("X-Heddle-Warning")).toBeNull();
    }
  });

  test.each([
    [{ end_time: "2026-01-01T00:00:00Z" }, "end_time", "after start_time"],
    [{ end_time: "2025-12-31T00:00:00Z" }, "end_time", "after start_time"],
    [{ end_time: undefined }, "end_time", "interval_hours"],
    [{ interval_hours: 6 }, "end_time", "must be absent"],
    [
      { start_time: "9999-12-30T00:00:00Z", end_time: undefined, interval_hours: 168 },
      "start_time",
      "at most ten years ahead",
    ],
    [{ end_time: undefined, interval_hours: 0 }, "interval_hours", "1 to 168"],
    [{ end_time: undefined, interval_hours: 169 }, "interval_hours", "1 to 168"],
    [{ end_time: undefined, interval_hours: 1.5 }, "interval_hours", "1 to 168"],
    [{ end_time: undefined, interval_hours: "6" }, "interval_hours", "1 to 168"],
    [{ end_time: "2060-01-01T00:00:00Z" }, "end_time", "7320 days"],
    [{ start_time: "yesterday" }, "start_time", "ISO 8601"],
    [{ export_fields: ["id", "colour", "size"] }, "export_fields", "colour, size"],
    [{ export_fields: [] }, "export_fields", "at least one"],
    [{ filter: 'eq(name, "a"' }, "filter", "At character 13"],
    [{ filter: 'eq(colour, "a")' }, "filter", "colour"],
    [{ format: "CSV" }, "format", "Parquet"],
    [{ format_version: "v3" }, "format_version", "v2_beta"],
    [{ compression: "brotli" }, "compression", "zstandard"],
    [{ all_experiments: true }, "all_experiments", "session_id"],
    [{ session_id: "x" }, "session_id", "UUID"],
    [{ table_format: "delta" }, "table_format", "iceberg"],
    [{ table_format: "iceberg" }, "table_format", "only the windows of a schedule"],
  ])("with %j is rejected for %s", async (fields, field, text) => {
    const response = await post(ours.owner.admin, PATH, order(fields));
    const body = await response.text();
    expect([response.status, body]).toEqual([422, expect.stringContaining(text)]);
    const { detail } = JSON.parse(body) as { detail: { loc: string[] }[] };
    expect(detail[0]?.loc).toContain(field);
  });

  test.each([
    [{ format: "parquet", format_version: "V2_BETA", compression: "Gzip" }],
    [{ start_time: "2026-01-01T00:00:00", end_time: "2026-01-02T00:00:00+02:00" }],
    [{ export_fields: ["inputs", "id"], filter: "eq(is_root, true)", late_rows: true }],
  ])("with %j is accepted", async (fields) => {
    const made = await create(fields);
    expect(made.status).toBe("CREATED");
  });

  test("that names another workspace's resources is a 404", async () => {
    for (const fields of [
      { bulk_export_destination_id: theirs.destination },
      { session_id: theirs.project },
      { bulk_export_destination_id: UNKNOWN_ID },
      { session_id: UNKNOWN_ID },
    ]) {
      expect((await post(ours.owner.admin, PATH, order(fields))).status).toBe(404);
    }
  });

  test("sent twice with one Idempotency-Key is one export", async () => {
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const send = (json: unknown, key = ours.owner.admin) => api(PATH, { key, json, headers });
    const answers = await Promise.all([send(order()), send(order()), send(order())]);
    const ids = await Promise.all(
      answers.map(async (answer) => (await answer.json<BulkExport>()).id),
    );
    expect(new Set(ids).size).toBe(1);
    expect((await send(order({ filter: "eq(is_root, true)" }))).status).toBe(409);
    const foreign = { bulk_export_destination_id: theirs.destination, session_id: theirs.project };
    const other = await (await send(order(foreign), theirs.owner.admin)).json<BulkExport>();
    expect(ids).not.toContain(other.id);
  });
});

describe("who may", () => {
  test.each([
    ["POST", PATH, () => order()],
    ["GET", PATH, () => undefined],
    ["GET", `${PATH}/limits`, () => undefined],
    ["GET", `${PATH}/${UNKNOWN_ID}`, () => undefined],
    ["PATCH", `${PATH}/${UNKNOWN_ID}`, () => ({ status: "Cancelled" })],
    ["POST", `${PATH}/${UNKNOWN_ID}/retry`, () => undefined],
    ["GET", `${PATH}/${UNKNOWN_ID}/runs`, () => undefined],
    ["GET", `${PATH}/${UNKNOWN_ID}/runs/${UNKNOWN_ID}`, () => undefined],
    ["GET", `${PATH}/runs?source_bulk_export_id=${UNKNOWN_ID}`, () => undefined],
  ])(
    "%s %s: rejects callers without a key and changes by viewers; plans below Plus read and cancel",
    async (method, path, body) => {
      const call = { method, ...(body() === undefined ? {} : { json: body() }) };
      expect((await api(path, call)).status).toBe(401);
      const { admin } = await workspace({ plan: "developer" });
      const refused = await api(path, { ...call, key: admin });
      const text = await refused.text();
      if (method === "POST")
        expect([refused.status, text]).toEqual([403, expect.stringMatching(/not enabled.* Plus/)]);
      else expect([200, 404], text).toContain(refused.status);
      for (const key of [ours.owner.viewer, ours.owner.editor]) {
        const status = (await api(path, { ...call, key })).status;
        if (method === "GET") expect([200, 404]).toContain(status);
        else expect(status).toBe(403);
      }
    },
  );

  test("another workspace does not find it", async () => {
    const { id } = await create();
    const key = theirs.owner.admin;
    const cancel = { key, method: "PATCH", json: { status: "Cancelled" } };
    expect((await api(`${PATH}/${id}`, { key })).status).toBe(404);
    expect((await api(`${PATH}/${id}`, cancel)).status).toBe(404);
    expect((await api(`${PATH}/${id}/runs`, { key })).status).toBe(404);
    expect((await api(`${PATH}/${id}/retry`, { key, method: "POST" })).status).toBe(404);
    const listed = await (await api(PATH, { key })).json<BulkExport[]>();
    expect(listed.map((one) => one.id)).not.toContain(id);
    expect((await get(id)).status).not.toBe("CANCELLED");
  });
});

describe("the list", () => {
  test("has pages, newest first, and the total", async () => {
    const made = [await create(), await create(), await create()];
    const response = await api(`${PATH}?limit=2`, { key: ours.owner.viewer });
    const page = await response.json<BulkExport[]>();
    expect(page.map(({ id }) => id)).toEqual([made[2]?.id, made[1]?.id]);
    expect(Number(response.headers.get("X-Pagination-Total"))).toBeGreaterThanOrEqual(3);
    const next = await api(`${PATH}?limit=2&offset=2`, { key: ours.owner.viewer });
    expect((await next.json<BulkExport[]>())[0]?.id).toBe(made[0]?.id);
  });
});

describe("a schedule", () => {
  test("is INTERVAL_SCHEDULED until it is cancelled, once and again", async () => {
    const future = new Date(Date.now() + 86_400_000).toISOString();
    const made = await create({ start_time: future, end_time: null, interval_hours: 168 });
    expect(made).toMatchObject({
      status: "INTERVAL_SCHEDULED",
      interval_hours: 168,
      end_time: null,
      progress: null,
    });
    const used = await api(`${PATH}/destinations/${ours.destination}`, {
      key: ours.owner.admin,
      method: "DELETE",
    });
    expect(used.status).toBe(409);
    for (const status of ["Cancelled", "CANCELLED"]) {
      const answer = await api(`${PATH}/${made.id}`, {
        key: ours.owner.admin,
        method: "PATCH",
        json: { status },
      });
      expect(await answer.json()).toMatchObject({ status: "CANCELLED" });
    }
  });

  test("cannot be patched to another status", async () => {
    const { id } = await create();
    for (const json of [{ status: "COMPLETED" }, {}, { status: 1 }]) {
      const answer = await api(`${PATH}/${id}`, { key: ours.owner.admin, method: "PATCH", json });
      expect(answer.status).toBe(422);
    }
  });
});

test("returns the limits", async () => {
  const answer = await api(`${PATH}/limits`, { key: ours.owner.viewer });
  expect(await answer.json<BulkExportLimits>()).toMatchObject({
    export_timeout_hours: 72,
    max_files_at_once: 45,
    max_active_exports: 15,
    max_schedules: 200,
    max_creates_per_hour: 250,
    max_interval_hours: 168,
  });
});
