import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { addDestination } from "../../local/s3/destination.ts";

const S3 = {
  bucket: "exports",
  region: "us-east-1",
  endpoint: "http://127.0.0.1:1",
  access_key_id: "id",
  secret_access_key: "secret",
};

/** Adds the destination at a server that answers with the status. */
async function addAt(status: number): Promise<boolean> {
  const server = createServer((_, response) => response.writeHead(status).end("{}"));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const base_url = `http://127.0.0.1:${port}`;
  const settled = await addDestination({ base_url, api_key: "key", s3: S3 });
  await new Promise((closed) => server.close(closed));
  return settled;
}

describe("the bucket as a destination", () => {
  it("is settled when the Worker has made or refused it", async () => {
    expect(await addAt(201)).toBe(true);
    expect(await addAt(400)).toBe(true);
  });

  it("is tried again after a failure, which does not end the start", async () => {
    expect(await addAt(503)).toBe(false);
    const base_url = "http://127.0.0.1:1";
    expect(await addDestination({ base_url, api_key: "key", s3: S3 })).toBe(false);
  });
});
