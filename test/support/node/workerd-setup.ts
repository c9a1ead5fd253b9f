// An S3 server, a resolver and a receiver of webhooks for the tests that run inside workerd.
import type { TestProject } from "vitest/node";
import { type StartedDns, startDns } from "./dns-server.ts";
import { type StartedReceiver, startReceiver } from "./receiver.ts";
import { type StartedS3, startLocalS3 } from "./s3-server.ts";

let s3: StartedS3;
let dns: StartedDns;
let receiver: StartedReceiver;

export async function setup(project: TestProject) {
  [s3, dns, receiver] = await Promise.all([startLocalS3(), startDns(), startReceiver()]);
  project.provide("s3", { ...s3.info, key_desk: null });
  project.provide("dns_url", dns.url);
  project.provide("receiver_url", receiver.url);
}

export async function teardown() {
  await Promise.all([s3.stop(), dns.stop(), receiver.stop()]);
}
