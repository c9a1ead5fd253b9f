import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, inject, onTestFinished, test, vi } from "vitest";
import { endpointProblem } from "../../src/exports/config-rules.ts";
import type { Destination } from "../../src/exports/destination-schema.ts";
import { targetOf } from "../../src/exports/destinations/service.ts";
import { bulk_export_destinations } from "../../src/exports/table.ts";
import { type Caller, contextFor, database } from "../../src/shared/context.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";

const PATH = "/api/v1/bulk-exports/destinations";
const UNKNOWN_ID = "0197f000-0000-7000-8000-000000000000";
const s3 = inject("s3");

let ours: TestWorkspace;
let theirs: TestWorkspace;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace({ plan: "plus" }), workspace()]);
});

const credentials = {
  access_key_id: s3.access_key_id,
  secret_access_key: s3.secret_access_key,
};

function input(config: Record<string, unknown> = {}, fields: Record<string, unknown> = {}) {
  return {
    destination_type: "s3",
    display_name: "Daily 'cold' store_1",
    config: { bucket_name: s3.bucket, endpoint_url: s3.endpoint, prefix: "traces", ...config },
    credentials,
    ...fields,
  };
}

async function created(config = {}, key = ours.admin): Promise<Destination> {
  const response = await api(PATH, { key, json: input(config) });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return JSON.parse(text) as Destination;
}

function patch(id: string, json: unknown, key = ours.admin) {
  return api(`${PATH}/${id}`, { key, method: "PATCH", json });
}

function context(workspace_id: string) {
  const caller: Caller = {
    organization_id: "any",
    workspace_id,
    role: "viewer",
    plan: "plus",
    actor: { type: "system", job: "test" },
  };
  return contextFor(env, caller);
}

describe("a destination", () => {
  test("returns every key, the names of credentials and no credential", async () => {
    const response = await api(PATH, { key: ours.admin, json: input() });
    expect(response.status).toBe(200);
    expect(response.headers.get("X-Heddle-Warning")).toBeNull();
    const body = await response.json<Destination>();
    expect(body).toEqual({
      id: expect.any(String),
      tenant_id: ours.workspace_id,
      destination_type: "s3",
      display_name: "Daily 'cold' store_1",
      config: {
        endpoint_url: s3.endpoint,
        prefix: "traces",
        bucket_name: s3.bucket,
        region: null,
        s3_additional_kwargs: null,
        config_kwargs_s3: null,
        include_bucket_in_prefix: false,
        aws_role_arn: null,
      },
      credentials_keys: ["access_key_id", "secret_access_key"],
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
    });
    for (const path of [PATH, `${PATH}/${body.id}`]) {
      const read = await api(path, { key: ours.viewer });
      expect(read.status).toBe(200);
      const text = await read.text();
      expect(text).toContain(body.id);
      expect(text).not.toContain(s3.access_key_id);
      expect(text).not.toContain(s3.secret_access_key);
    }
  });

  test("stores its config, with the addressing style that works", async () => {
    const config = {
      prefix: "/a//b/",
      region: s3.region,
      s3_additional_kwargs: { Metadata: { team: "research" }, CacheControl: "no-store" },
      config_kwargs_s3: { addressing_style: "auto", payload_signing_enabled: true },
      include_bucket_in_prefix: true,
    };
    const { id, config: kept } = await created(config);
    expect(kept).toMatchObject({
      ...config,
      config_kwargs_s3: { ...config.config_kwargs_s3, use_accelerate_endpoint: null },
    });
    const { target, ...rest } = await targetOf(context(ours.workspace_id), id);
    expect(rest).toEqual({
      prefix: "/a//b/",
      include_bucket_in_prefix: true,
      bucket_name: s3.bucket,
    });
    expect(target).toEqual({
      endpoint_url: s3.endpoint,
      region: s3.region,
      bucket_name: s3.bucket,
      addressing_style: "path",
      put_headers: { "x-amz-meta-team": "research", "cache-control": "no-store" },
      checksums: true,
      payload_signing: true,
      credentials,
    });
  });

  test("stores its credentials encrypted, bound to its row", async () => {
    const [one, other] = [await created(), await created()];
    const db = database(env);
    const rows = await db.select().from(bulk_export_destinations);
    expect(JSON.stringify(rows)).not.toContain(s3.secret_access_key);
    expect(JSON.stringify(rows)).not.toContain(s3.access_key_id);
    const { key_id = "", ciphertext = "" } = rows.find(({ id }) => id === one.id) ?? {};
    await db
      .update(bulk_export_destinations)
      .set({ key_id, ciphertext })
      .where(eq(bulk_export_destinations.id, other.id));
    await expect(targetOf(context(ours.workspace_id), other.id)).rejects.toThrow(
      "does not decrypt",
    );
  });

  test("of another workspace does not exist", async () => {
    const { id } = await created();
    const key = theirs.admin;
    const answers = await Promise.all([
      api(`${PATH}/${id}`, { key }),
      patch(id, { credentials }, key),
      api(`${PATH}/${id}`, { key, method: "DELETE" }),
      api(`${PATH}/${UNKNOWN_ID}`, { key }),
    ]);
    for (const answer of answers) {
      expect(answer.status).toBe(404);
      expect(await answer.json()).toEqual({
        detail: expect.stringMatching(/^Destination ID .* not found/),
      });
    }
    const list = await (await api(PATH, { key })).json<Destination[]>();
    expect(list.map((each) => each.id)).not.toContain(id);
    await expect(targetOf(context(theirs.workspace_id), id)).rejects.toMatchObject({
      code: "not_found",
    });
    expect((await api(`${PATH}/${id}`, { key: ours.viewer })).status).toBe(200);
  });

  test("is deleted with its credentials", async () => {
    const { id } = await created();
    const removed = await api(`${PATH}/${id}`, { key: ours.admin, method: "DELETE" });
    expect([removed.status, await removed.text()]).toEqual([204, ""]);
    expect((await api(`${PATH}/${id}`, { key: ours.admin })).status).toBe(404);
    const again = await api(`${PATH}/${id}`, { key: ours.admin, method: "DELETE" });
    expect(again.status).toBe(404);
  });
});

describe("a probe", () => {
  const probed = (fields: Record<string, unknown> = {}, key = ours.admin) => {
    const { display_name: _, ...rest } = input({}, fields);
    return api(`${PATH}/probe`, { key, json: rest });
  };
  const read = async (fields: Record<string, unknown> = {}) =>
    (await probed(fields)).json<{ rights: Record<string, unknown>[] }>();

  test("has a result for each right, and saves nothing", async () => {
    const before = await (await api(PATH, { key: ours.viewer })).json();
    const found = await read();
    expect(found).toMatchObject({ is_usable: true, addressing_style: "path", leftovers: [] });
    expect(found.rights.map(({ right, status }) => [right, status])).toEqual([
      ["s3:PutObject", "granted"],
      ["s3:PutObject", "granted"],
      ["s3:ListBucketMultipartUploads", "granted"],
      ["s3:AbortMultipartUpload", "granted"],
      ["s3:GetObject", "granted"],
      ["s3:DeleteObject", "granted"],
    ]);
    expect(JSON.stringify(found)).toContain(`arn:aws:s3:::${s3.bucket}/traces/*`);
    expect(JSON.stringify(found)).not.toContain(s3.secret_access_key);
    expect(await (await api(PATH, { key: ours.viewer })).json()).toEqual(before);
  });

  test("of a saved destination uses its stored credentials", async () => {
    const { id } = await created();
    const path = `${PATH}/${id}/probe`;
    const found = await (await api(path, { key: ours.admin, method: "POST" })).json();
    expect(found).toEqual(await read());
    expect((await api(path, { key: ours.editor, method: "POST" })).status).toBe(403);
    expect((await api(path, { key: theirs.admin, method: "POST" })).status).toBe(404);
  });

  test.each([
    [{ credentials: s3.other }, /AccessDenied/, /s3:PutObject/],
    [
      { credentials: { ...credentials, secret_access_key: "x" } },
      /SignatureDoesNotMatch/,
      /secret/,
    ],
  ])("explains a refusal and checks no further: %#", async (fields, error, remedy) => {
    const found = await read(fields);
    expect(found).toMatchObject({ is_usable: false, addressing_style: null, leftovers: [] });
    const [put, ...others] = found.rights;
    expect(put).toMatchObject({ status: "refused", is_required: true });
    expect([put?.error, put?.remedy]).toEqual([
      expect.stringMatching(error),
      expect.stringMatching(remedy),
    ]);
    expect(new Set(others.map(({ status }) => status))).toEqual(new Set(["not_checked"]));
  });

  test("does not call a right missing when the server does not support the call", async () => {
    const { fetch } = globalThis;
    const spy = vi.spyOn(globalThis, "fetch").mockImplementation(async (request, init) => {
      const { method, url } = new Request(request, init);
      const isList = method === "GET" && new URL(url).searchParams.has("uploads");
      return isList ? new Response(null, { status: 501 }) : fetch(request, init);
    });
    onTestFinished(() => spy.mockRestore());
    const { rights } = await read();
    const list = rights.find(({ right }) => right === "s3:ListBucketMultipartUploads");
    expect(list).toMatchObject({
      status: "refused",
      error: expect.stringContaining("NotImplemented"),
      remedy: expect.stringMatching(/^The server does not support this call/),
    });
  });

  test("is for administrators of a paid plan, and refuses what a destination refuses", async () => {
    expect((await probed({}, ours.editor)).status).toBe(403);
    const { admin } = await workspace({ plan: "developer" });
    expect((await probed({}, admin)).status).toBe(403);
    expect((await probed({ config: { bucket_name: "a..b" } })).status).toBe(422);
  });
});

describe("permissions", () => {
  test.each(["editor", "viewer"] as const)("%s reads and does not manage", async (role) => {
    const { id } = await created();
    const key = ours[role];
    expect((await api(PATH, { key })).status).toBe(200);
    expect((await api(`${PATH}/${id}`, { key })).status).toBe(200);
    const refused = await Promise.all([
      api(PATH, { key, json: input() }),
      patch(id, { credentials }, key),
      api(`${PATH}/${id}`, { key, method: "DELETE" }),
    ]);
    for (const answer of refused) {
      expect(answer.status).toBe(403);
      expect(await answer.text()).toContain(`The caller's role is ${role}`);
    }
  });

  test("callers without a key are rejected", async () => {
    expect((await api(PATH)).status).toBe(401);
    expect((await api(`${PATH}/${UNKNOWN_ID}`, { method: "DELETE" })).status).toBe(401);
  });

  test("callers below the plan Plus are rejected by name of the plan", async () => {
    const { admin } = await workspace({ plan: "developer" });
    expect((await api(PATH, { key: admin })).status).toBe(200);
    expect((await api(`${PATH}/${UNKNOWN_ID}`, { key: admin, method: "DELETE" })).status).toBe(404);
    const answers = await Promise.all([
      api(PATH, { key: admin, json: input() }),
      patch(UNKNOWN_ID, { credentials }, admin),
    ]);
    for (const answer of answers) {
      expect(answer.status).toBe(403);
      expect(await answer.json()).toEqual({ detail: expect.stringContaining("plan Plus") });
    }
  });
});

describe("rejected before any request to the server:", () => {
  const long = "x".repeat(3000);
  test.each<[object, string, string]>([
    [{ display_name: "" }, "display_name", ""],
    [{ display_name: "a/b" }, "display_name", "must contain only letters"],
    [{ display_name: "x".repeat(256) }, "display_name", ""],
    [{ destination_type: "gcs" }, "destination_type", ""],
    [{ config: undefined }, "config", ""],
    [{ credentials: undefined }, "credentials", "required: send access_key_id"],
    [{ credentials: null }, "credentials", "required: send access_key_id"],
    [{ credentials: { access_key_id: "a" } }, "secret_access_key", ""],
    [{ credentials: { ...credentials, access_key_id: "x".repeat(256) } }, "access_key_id", ""],
    [{ credentials: { ...credentials, secret_access_key: long } }, "secret_access_key", ""],
    [{ credentials: { ...credentials, session_token: "x".repeat(16_385) } }, "session_token", ""],
    [{ credentials: { ...credentials, session_token: "a\nb" } }, "session_token", "ASCII"],
  ])("%j", async (fields, field, words) => {
    const response = await api(PATH, { key: ours.admin, json: input({}, { ...fields }) });
    const text = await response.text();
    expect(response.status, text).toBe(422);
    expect(text).toContain(field);
    expect(text).toContain(words);
    expect(text).not.toContain(s3.secret_access_key);
  });

  test.each<[object, string, string]>([
    [{ bucket_name: null }, "bucket_name", ""],
    [{ bucket_name: "ab" }, "bucket_name", ""],
    [{ bucket_name: "x".repeat(64) }, "bucket_name", ""],
    [{ bucket_name: "s3://exports" }, "bucket_name", "without s3://"],
    [{ bucket_name: "exports/traces" }, "bucket_name", "set prefix for the path"],
    [{ bucket_name: "a..b" }, "bucket_name", "must contain only letters"],
    [{ endpoint_url: "minio:9000" }, "endpoint_url", ""],
    [{ endpoint_url: "\u{1f642}" }, "endpoint_url", ""],
    [{ endpoint_url: "https://[::1" }, "endpoint_url", ""],
    [{ endpoint_url: "https://key:secret@host.test" }, "endpoint_url", ""],
    [{ endpoint_url: `https://host.test/${long}` }, "endpoint_url", ""],
    [{ endpoint_url: "https://host.test/base" }, "endpoint_url", "without path or query"],
    [{ endpoint_url: "https://host.test/?a=b" }, "endpoint_url", "without path or query"],
    [
      { endpoint_url: "https://exports.s3.eu-west-1.amazonaws.com" },
      "endpoint_url",
      "use https://s3.eu-west-1.amazonaws.com",
    ],
    [
      { endpoint_url: "https://host.test:9000/exports" },
      "endpoint_url",
      "use https://host.test:9000",
    ],
    [{ region: "" }, "region", "eu-west-1"],
    [{ region: "eu west" }, "region", "eu-west-1"],
    [{ prefix: long }, "prefix", ""],
    [{ prefix: "é".repeat(301) }, "prefix", "600 bytes"],
    [{ prefix: "a/../b" }, "prefix", "as a segment"],
    [{ prefix: "s3://exports/a" }, "prefix", "without s3://"],
    [{ prefix: "a\u0000b" }, "prefix", "control characters"],
    [{ prefix: "a\ud800" }, "prefix", "surrogate pair"],
    [{ aws_role_arn: "arn:aws:iam::1:role/x" }, "aws_role_arn", "is not supported"],
    [{ s3_additional_kwargs: { Body: "x" } }, "s3_additional_kwargs", "arguments: ACL"],
    [{ s3_additional_kwargs: "ACL" }, "s3_additional_kwargs", ""],
    [{ config_kwargs_s3: { addressing_style: "host" } }, "addressing_style", ""],
    [
      { endpoint_url: "http://127.0.0.1:9", config_kwargs_s3: { addressing_style: "virtual" } },
      "127.0.0.1",
      "is an IP address",
    ],
  ])("the config %j", async (config, field, words) => {
    const response = await api(PATH, { key: ours.admin, json: input({ ...config }) });
    const text = await response.text();
    expect(response.status, text).toBe(422);
    expect(text).toContain(field);
    expect(text).toContain(words);
  });

  test.each(["display_name", "config", "prefix"])("a change of %s", async (field) => {
    const { id } = await created();
    const response = await patch(id, { credentials, [field]: "other" });
    expect(response.status).toBe(422);
    expect(await response.json()).toEqual({
      detail: [
        {
          loc: ["body"],
          msg: "only credentials can change: create another destination for another name or config",
          type: expect.any(String),
        },
      ],
    });
  });

  test("an empty change", async () => {
    const { id } = await created();
    expect((await patch(id, {})).status).toBe(422);
  });
});

test("destinations are saved up to 60 times a minute, also without success", async () => {
  const { admin } = await workspace({ plan: "plus" });
  const refuse = vi
    .spyOn(globalThis, "fetch")
    .mockImplementation(async () => new Response(null, { status: 403 }));
  onTestFinished(() => refuse.mockRestore());
  const statuses: number[] = [];
  for (let n = 0; n < 61; n++) {
    statuses.push((await api(PATH, { key: admin, json: input() })).status);
  }
  expect([statuses[59], statuses[60]]).toEqual([400, 429]);
});

test("the document has both responses of the probe", async () => {
  const document = await (await api("/openapi.json")).json<{
    paths: Record<string, Record<string, { responses: Record<string, object> }>>;
  }>();
  for (const operation of [
    document.paths[PATH]?.post,
    document.paths[`${PATH}/{destination_id}`]?.patch,
  ]) {
    expect(Object.keys(operation?.responses ?? {})).toEqual(expect.arrayContaining(["200", "400"]));
    expect(operation?.responses["200"]).toMatchObject({
      headers: { "X-Heddle-Warning": { schema: { type: "string" } } },
    });
  }
});

test.each([
  ["https://minio.example.com", "minio", false],
  ["http://storage.internal:9000", "storage", false],
  ["https://storage.googleapis.com", "storage", false],
  ["https://acme.storage.googleapis.com", "acme", true],
  ["https://acme.1f2e.r2.cloudflarestorage.com", "acme", true],
  ["https://acme.s3.us-west-004.backblazeb2.com", "acme", true],
  ["https://acme.s3.amazonaws.com", "acme", true],
])("the endpoint %s names the bucket %s: %s", (endpoint_url, bucket_name, isNamed) => {
  expect(endpointProblem(endpoint_url, bucket_name) !== null).toBe(isNamed);
});
