import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AwsClient } from "aws4fetch";
import { afterAll, expect, test } from "vitest";
import { startS3 } from "../../local/s3/server.ts";
import { stack } from "./support/stack.ts";

const { endpoint, bucket, region } = stack.s3;
const folders: string[] = [];

function signer(credentials: { access_key_id: string; secret_access_key: string }) {
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = credentials;
  return new AwsClient({ accessKeyId, secretAccessKey, region, service: "s3", retries: 0 });
}

const s3 = signer(stack.s3);
const at = (key: string, query = "") => `${endpoint}/${bucket}/${key}${query}`;

afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

test("an object is read back as it was written, whole and by range", async () => {
  const put = await s3.fetch(at("a/year=2026/part 1.txt"), { method: "PUT", body: "0123456789" });
  expect(put.status).toBe(200);
  expect(put.headers.get("etag")).toBe('"781e5e245d69b566979b86e28d23f2c7"');
  expect(await (await s3.fetch(at("a/year=2026/part 1.txt"))).text()).toBe("0123456789");
  const tail = await s3.fetch(at("a/year=2026/part 1.txt"), { headers: { range: "bytes=-4" } });
  expect([tail.status, await tail.text()]).toEqual([206, "6789"]);
});

test("a list has the keys under a prefix and folds the rest at the delimiter", async () => {
  for (const key of ["list/b/1", "list/b/2", "list/a"]) {
    await s3.fetch(at(key), { method: "PUT", body: key });
  }
  const listed = await s3.fetch(at("", "?list-type=2&prefix=list/&delimiter=/"));
  const text = await listed.text();
  expect([...text.matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key]) => key)).toEqual(["list/a"]);
  expect(text).toContain("<CommonPrefixes><Prefix>list/b/</Prefix></CommonPrefixes>");
});

test("a list continues after the last key of a page, whatever its characters", async () => {
  const keys = ["order/\uff5e", "order/\u{1f600}"];
  for (const key of keys) await s3.fetch(at(encodeURIComponent(key)), { method: "PUT", body: "x" });
  const pageAfter = async (key: string) => {
    const query = `?list-type=2&prefix=order/&max-keys=1&start-after=${encodeURIComponent(key)}`;
    const text = await (await s3.fetch(at("", query))).text();
    return [...text.matchAll(/<Key>(.*?)<\/Key>/g)].map(([, found]) => found);
  };
  expect([await pageAfter(""), await pageAfter(keys[0] ?? "")]).toEqual(keys.map((key) => [key]));
});

test("a delete of several keys takes their spaces literally", async () => {
  for (const key of ["report", "report%20"]) await s3.fetch(at(key), { method: "PUT", body: "x" });
  const body = "<Delete><Object><Key>report </Key></Object></Delete>";
  expect((await s3.fetch(at("", "?delete"), { method: "POST", body })).status).toBe(200);
  expect((await s3.fetch(at("report"))).status).toBe(200);
  expect((await s3.fetch(at("report%20"))).status).toBe(404);
});

test.each(["tagging", "acl", "legal-hold"])(
  "a request for %s of an object is refused, and changes nothing",
  async (name) => {
    await s3.fetch(at("tagged"), { method: "PUT", body: "content" });
    for (const method of ["PUT", "GET", "DELETE"]) {
      const body = method === "PUT" ? "<Tagging/>" : null;
      const answer = await s3.fetch(at("tagged", `?${name}`), { method, body });
      expect([answer.status, await answer.text()]).toEqual([
        501,
        expect.stringContaining("<Code>NotImplemented</Code>"),
      ]);
    }
    expect(await (await s3.fetch(at("tagged"))).text()).toBe("content");
  },
);

test.each([
  ["a wrong secret", { ...stack.s3, secret_access_key: "wrong" }, "SignatureDoesNotMatch"],
  ["an unknown key id", { ...stack.s3, access_key_id: "UNKNOWN" }, "InvalidAccessKeyId"],
])("%s is refused and writes nothing", async (_case, credentials, code) => {
  const put = await signer(credentials).fetch(at("refused"), { method: "PUT", body: "x" });
  expect(put.status).toBe(403);
  expect(await put.text()).toContain(`<Code>${code}</Code>`);
  expect((await s3.fetch(at("refused"))).status).toBe(404);
});

test("a multipart upload is one object, and an aborted one is none", async () => {
  const start = async (key: string) => {
    const answer = await (await s3.fetch(at(key, "?uploads"), { method: "POST" })).text();
    return /<UploadId>(.*?)<\/UploadId>/.exec(answer)?.[1] ?? "";
  };
  const id = await start("parts");
  const part = await s3.fetch(at("parts", `?partNumber=1&uploadId=${id}`), {
    method: "PUT",
    body: "part one",
  });
  const etag = part.headers.get("etag");
  const complete = await s3.fetch(at("parts", `?uploadId=${id}`), {
    method: "POST",
    body: `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${etag}</ETag></Part></CompleteMultipartUpload>`,
  });
  expect(complete.status).toBe(200);
  expect(await (await s3.fetch(at("parts"))).text()).toBe("part one");

  const aborted = await start("aborted");
  const abort = await s3.fetch(at("aborted", `?uploadId=${aborted}`), { method: "DELETE" });
  expect(abort.status).toBe(204);
  expect((await s3.fetch(at("aborted"))).status).toBe(404);
});

test("objects survive a restart of the server", async () => {
  const dir = await mkdtemp(join(tmpdir(), "heddle-s3-"));
  folders.push(dir);
  const { access_key_id, secret_access_key } = stack.s3;
  const user = { name: "local", access_key_id, secret_access_key };
  const first = await startS3({ dir, users: [user], buckets: ["kept"] });
  await s3.fetch(`${first.endpoint}/kept/file`, { method: "PUT", body: "still here" });
  await first.close();
  const second = await startS3({ dir, users: [user], buckets: ["kept"] });
  const read = await s3.fetch(`${second.endpoint}/kept/file`);
  expect(await read.text()).toBe("still here");
  await second.close();
});
