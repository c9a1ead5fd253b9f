import { env, exports } from "cloudflare:workers";
import { beforeAll, expect, test } from "vitest";
import { sweepUploads } from "../../../src/control-plane/deployments/uploads/upload-service.ts";
import {
  MAX_UNUSED_BYTES,
  objectPath,
  type SourceUpload,
  signedText,
  UNUSED_MS,
} from "../../../src/control-plane/deployments/uploads/uploads.ts";
import { isSigned, sign } from "../../../src/shared/crypto/signing.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { deploymentRow } from "../../support/deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type UploadTarget = { upload_url: string; object_path: string };

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

async function uploadable() {
  const { id } = await deploymentRow(ours.workspace_id, {
    source: "internal_source",
    source_config: { deployment_type: "dev" },
    source_revision_config: { langgraph_config_path: "langgraph.json" },
  });
  return id;
}

async function place(id: string): Promise<UploadTarget> {
  const response = await api(`/v2/deployments/${id}/upload-url`, {
    key: ours.editor,
    method: "POST",
  });
  expect(response.status).toBe(200);
  return response.json<UploadTarget>();
}

function put(url: string, body: BodyInit | null = "tarball", headers: Record<string, string> = {}) {
  return exports.default.fetch(url, { method: "PUT", body, headers });
}

test("a tarball is uploaded to its URL without a key and built", async () => {
  const id = await uploadable();
  const { upload_url, object_path } = await place(id);
  expect(object_path).toMatch(
    new RegExp(`^uploads/${ours.workspace_id}/${id}/[0-9a-f-]{36}\\.tar\\.gz$`),
  );
  expect(upload_url).toMatch(/^https:\/\/heddle\.test\/uploads\//);
  const early = await api(`/v2/deployments/${id}`, {
    key: ours.editor,
    method: "PATCH",
    json: { source_revision_config: { source_tarball_path: object_path } },
  });
  expect(early.status).toBe(422);
  expect(await early.text()).toContain("has no uploaded object");
  const uploaded = await put(upload_url);
  expect(uploaded.status).toBe(200);
  expect(await uploaded.json()).toEqual({ object_path, size_bytes: 7 });
  expect(await (await env.ARTIFACTS.get(object_path))?.text()).toBe("tarball");
  const built = await api(`/v2/deployments/${id}`, {
    key: ours.editor,
    method: "PATCH",
    json: {
      revision_source: "internal_source",
      source_revision_config: {
        source_tarball_path: object_path,
        langgraph_config_path: "langgraph.json",
      },
    },
  });
  expect(built.status).toBe(200);
  const { latest_revision_id } = await built.json<{ latest_revision_id: string }>();
  const revision = await api(`/v2/deployments/${id}/revisions/${latest_revision_id}`, {
    key: ours.viewer,
  });
  expect(await revision.json()).toMatchObject({ trigger: "cli" });
});

test("a URL is good for one upload", async () => {
  const { upload_url, object_path } = await place(await uploadable());
  const both = await Promise.all([put(upload_url, "one"), put(upload_url, "two")]);
  expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
  const kept = await (await env.ARTIFACTS.get(object_path))?.text();
  expect(kept).toBe(both[0]?.status === 200 ? "one" : "two");
  expect((await put(upload_url, "larger")).status).toBe(409);
  const counted = env.DB.prepare("SELECT bytes FROM uploads WHERE object_path = ?");
  expect(await counted.bind(object_path).first("bytes")).toBe(3);
});

test.each([
  ["another upload", (url: URL) => url.pathname.replace(/[^/]+$/, newId())],
  ["another deployment", (url: URL) => url.pathname.replace(/[^/]+(?=\/[^/]+$)/, newId())],
])("a signature is for its URL alone, not for %s", async (_what, change) => {
  const url = new URL((await place(await uploadable())).upload_url);
  url.pathname = change(url);
  const response = await put(url.href);
  expect(response.status).toBe(403);
  expect(await response.text()).toContain("signature does not match");
});

test.each(["expires", "key", "signature"])("a changed %s is refused", async (name) => {
  const url = new URL((await place(await uploadable())).upload_url);
  const before = url.searchParams.get(name) ?? "";
  url.searchParams.set(name, name === "expires" ? `${Number(before) + 1}` : `${before}0`);
  expect((await put(url.href)).status).toBe(403);
  url.searchParams.delete(name);
  expect((await put(url.href)).status).toBe(422);
});

async function signedUrl(fields: Partial<SourceUpload>) {
  const upload = {
    workspace_id: ours.workspace_id,
    deployment_id: await uploadable(),
    upload_id: newId(),
    expires: Math.floor(Date.now() / 1000) + 60,
    ...fields,
  };
  const { key_id, signature } = await sign(env, "uploads", signedText(upload));
  const { workspace_id, deployment_id, upload_id, expires } = upload;
  const path = `/uploads/${workspace_id}/${deployment_id}/${upload_id}`;
  const url = `https://heddle.test${path}?expires=${expires}&key=${key_id}&signature=${signature}`;
  return { url, key: objectPath(upload) };
}

test("an expired URL, and one of a deployment that is gone, keep nothing", async () => {
  const late = await signedUrl({ expires: Math.floor(Date.now() / 1000) - 1 });
  const expired = await put(late.url);
  expect(expired.status).toBe(403);
  expect(await expired.text()).toContain("has expired");
  const gone = await signedUrl({ deployment_id: newId() });
  expect((await put(gone.url)).status).toBe(404);
  const foreign = await signedUrl({ workspace_id: newId() });
  expect((await put(foreign.url)).status).toBe(404);
  for (const { key } of [late, gone, foreign]) expect(await env.ARTIFACTS.head(key)).toBeNull();
});

test("an upload that its client ends takes no bytes of the workspace", async () => {
  const id = await uploadable();
  const { upload_url, object_path } = await place(id);
  const ended = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode("half"));
      controller.error(new Error("The client left."));
    },
  });
  const answer = await put(upload_url, ended, { "content-length": "1000" }).catch(() => null);
  expect(answer?.ok ?? false).toBe(false);
  const bytes = async () =>
    env.DB.prepare("SELECT bytes FROM uploads WHERE object_path = ?")
      .bind(object_path)
      .first("bytes");
  await eventually(async () => expect(await bytes()).toBe(0));
  expect((await put(upload_url)).status).toBe(200);
  expect(await bytes()).toBe(7);
});

test("size is known before a byte is read, and limited", async () => {
  const { url, key } = await signedUrl({});
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  await writable.abort("not needed");
  const unknown = await put(url, readable);
  expect(unknown.status).toBe(400);
  expect(await unknown.text()).toContain("Content-Length");
  const large = await put(url, "small", { "Content-Length": "67108865" });
  expect(large.status).toBe(413);
  expect(await large.text()).toContain(".dockerignore");
  expect(await env.ARTIFACTS.head(key)).toBeNull();
});

test("uploads are for uploaded sources, and images have no push token", async () => {
  const { id } = await deploymentRow(ours.workspace_id);
  const requestUpload = (path: string) =>
    api(`/v2/deployments/${id}/${path}`, { key: ours.editor, method: "POST" });
  const upload = await requestUpload("upload-url");
  expect(upload.status).toBe(400);
  expect(await upload.text()).toContain("only available for 'internal_source' source deployments");
  const push = await requestUpload("push-token");
  expect(push.status).toBe(400);
  expect(await push.text()).toContain("only available for 'internal_docker' source deployments");
});

test("a signature is of one purpose and one key, also of one that was rotated out of first place", async () => {
  const key = (id: string, byte: number) => `${id}:${btoa(String.fromCharCode(byte).repeat(32))}`;
  const before = { ENCRYPTION_KEYS: key("a", 1) };
  const rotated = { ENCRYPTION_KEYS: `${key("b", 2)},${key("a", 1)}` };
  const signed = await sign(before, "uploads", "text");
  expect(await isSigned(rotated, "uploads", "text", signed)).toBe(true);
  expect(await isSigned(rotated, "webhooks", "text", signed)).toBe(false);
  expect(await isSigned(rotated, "uploads", "other", signed)).toBe(false);
  expect(await isSigned({ ENCRYPTION_KEYS: key("b", 2) }, "uploads", "text", signed)).toBe(false);
  expect(await isSigned({ ENCRYPTION_KEYS: key("a", 2) }, "uploads", "text", signed)).toBe(false);
  expect(await isSigned(rotated, "uploads", "text", { ...signed, signature: "zz" })).toBe(false);
});

test("an upload that no revision uses is deleted after a day, and one that is used stays", async () => {
  const id = await uploadable();
  const [unused, used] = [await place(id), await place(id)];
  for (const { upload_url } of [unused, used]) expect((await put(upload_url)).status).toBe(200);
  const source_revision_config = { source_tarball_path: used.object_path };
  const path = `/v2/deployments/${id}`;
  const patched = await api(path, {
    ...{ key: ours.editor, method: "PATCH", json: { source_revision_config } },
  });
  expect(patched.status).toBe(200);
  const objects = () =>
    Promise.all([unused, used].map(({ object_path }) => env.ARTIFACTS.head(object_path)));
  await sweepUploads(env, new Date(Date.now() + UNUSED_MS - 60_000));
  expect(await objects()).not.toContain(null);
  await sweepUploads(env, new Date(Date.now() + UNUSED_MS));
  expect(await objects()).toEqual([null, expect.objectContaining({ key: used.object_path })]);
});

test("uploads that no revision uses take a bounded number of bytes of a workspace", async () => {
  const id = await uploadable();
  const [first, second] = [await place(id), await place(id)];
  expect((await put(first.upload_url)).status).toBe(200);
  const sized = (bytes: number) =>
    env.DB.prepare("UPDATE uploads SET bytes = ? WHERE object_path = ?")
      .bind(bytes, first.object_path)
      .run();
  await sized(MAX_UNUSED_BYTES);
  const refused = await put(second.upload_url);
  expect(refused.status).toBe(402);
  expect(await refused.text()).toContain("Create revisions of them, or wait");
  expect(await env.ARTIFACTS.head(second.object_path)).toBeNull();
  await sized(7);
  expect((await put(second.upload_url)).status).toBe(200);
});
