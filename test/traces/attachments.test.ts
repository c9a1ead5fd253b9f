import { env } from "cloudflare:workers";
import { beforeAll, expect, test } from "vitest";
import { signClaim } from "../../src/shared/crypto/claims.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { postWithFiles, projectId, read, type WireRun, wireRun } from "./support/runs.ts";

type Urls = Record<string, { presigned_url: string; mime_type: string }>;

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

async function runWithFile(project: string): Promise<WireRun> {
  const run = wireRun(project);
  const file = { name: "a note", type: "text/html", data: "<b>hi" };
  const answer = await postWithFiles(ours.editor, run, file);
  expect(answer.status).toBe(202);
  return run;
}

test("a run has a signed URL of each attachment, which needs no key", async () => {
  const run = await runWithFile("signed");
  const { s3_urls } = await read(ours.viewer, run.id);
  const { "attachment.a note": file, ...others } = s3_urls as Urls;
  expect([file?.mime_type, others]).toEqual(["text/html", {}]);
  const answer = await api(file?.presigned_url ?? "");
  expect([answer.status, await answer.text()]).toEqual([200, "<b>hi"]);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    "content-disposition": "attachment",
    "content-security-policy": "sandbox",
    "cache-control": "no-store",
  });
  const json = { session: [await projectId(ours.viewer, "signed")], select: ["s3_urls"] };
  const listed = await api("/runs/query", { key: ours.viewer, json });
  expect(await listed.json()).toMatchObject({ runs: [{ s3_urls: { "attachment.a note": {} } }] });
});

test("a signed URL ends with its hour, with its trace, and with a changed claim", async () => {
  const run = await runWithFile("expired");
  const { s3_urls } = await read(ours.viewer, run.id);
  const url = (s3_urls as Urls)["attachment.a note"]?.presigned_url ?? "";
  const ref = { workspace_id: ours.workspace_id, run_id: run.id, name: "a note" };
  const status = async (token: string) => (await api(`/api/v1/attachments/${token}`)).status;
  expect(await status(await signClaim(env, "attachment-url", ref, 1))).toBe(200);
  expect(await status(await signClaim(env, "attachment-url", ref, -1))).toBe(403);
  expect(await status(await signClaim(env, "feedback-url", ref, 1))).toBe(403);
  expect(await status("none")).toBe(403);
  const [claim = "", ...signature] = url.split("/").at(-1)?.split(".") ?? [];
  expect(await status([`${claim}x`, ...signature].join("."))).toBe(403);
  const session_id = await projectId(ours.viewer, "expired");
  await api("/runs/delete", { key: ours.admin, json: { session_id, trace_ids: [run.id] } });
  expect((await api(url)).status).toBe(404);
});

test("a long type of an attachment is cut", async () => {
  const run = wireRun("typed");
  const file = { name: "f", type: `text/plain; a=${"x".repeat(1000)}`, data: "hi" };
  expect((await postWithFiles(ours.editor, run, file)).status).toBe(202);
  const { s3_urls } = await read(ours.viewer, run.id);
  const type = (s3_urls as Urls)["attachment.f"]?.mime_type;
  expect(type).toBe(file.type.slice(0, 255));
});

test("an attachment with a quote in its name has this name", async () => {
  const run = wireRun("quoted");
  const file = { name: "q%22uote 100%2F", type: "text/plain", data: "hi" };
  expect((await postWithFiles(ours.editor, run, file)).status).toBe(202);
  const { s3_urls } = await read(ours.viewer, run.id);
  expect(Object.keys(s3_urls as Urls)).toEqual(['attachment.q"uote 100%2F']);
});

test("an attachment with a name longer than a key of R2 is stored, and read by its name", async () => {
  const run = wireRun("long names");
  const name = "図".repeat(110);
  const file = { name, type: "text/plain", data: "hi" };
  expect((await postWithFiles(ours.editor, run, file)).status).toBe(202);
  const { s3_urls } = await read(ours.viewer, run.id);
  const url = (s3_urls as Urls)[`attachment.${name}`]?.presigned_url ?? "";
  expect(await (await api(url)).text()).toBe("hi");
});

test("a run keeps its first hundred attachments, and an answer names those beyond", async () => {
  const run = wireRun("many files");
  const files = Array.from({ length: 101 }, (_, n) => ({
    name: `file ${n}`,
    type: "text/plain",
    data: "hi",
  }));
  const answer = await postWithFiles(ours.editor, run, ...files);
  expect(answer.status).toBe(422);
  expect(await answer.json()).toMatchObject({
    details: [
      {
        loc: ["body", `attachment.${run.id}.file 100`],
        msg: "is beyond the 100 attachments of a run",
      },
    ],
  });
  expect((await postWithFiles(ours.editor, run, ...files.slice(100))).status).toBe(202);
  const { s3_urls } = await read(ours.viewer, run.id);
  const names = files.slice(0, 100).map(({ name }) => `attachment.${name}`);
  expect(Object.keys(s3_urls as Urls)).toEqual(names);
});
