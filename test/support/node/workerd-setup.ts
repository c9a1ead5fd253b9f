// An S3 server and a resolver for the tests that run inside workerd.
import type { TestProject } from "vitest/node";
import { type StartedDns, startDns } from "./dns-server.ts";
import { type StartedS3, startLocalS3 } from "./s3-server.ts";

let s3: StartedS3;
let dns: StartedDns;

export async function setup(project: TestProject) {
  [s3, dns] = await Promise.all([startLocalS3(), startDns()]);
  project.provide("s3", { ...s3.info, key_desk: null });
  project.provide("dns_url", dns.url);
}

export async function teardown() {
  await Promise.all([s3.stop(), dns.stop()]);
}
