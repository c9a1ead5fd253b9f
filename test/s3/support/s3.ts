import { afterAll, inject } from "vitest";
import { type S3Options, s3Client } from "../../../src/exports/s3/client.ts";
import type { S3Target } from "../../../src/exports/s3/signing.ts";
import { type FaultProxy, startFaultProxy } from "../../support/node/fault-proxy.ts";

/** The server of this test run; which one is the project's affair. */
export const s3 = inject("s3");

export const prefix = `test-${crypto.randomUUID()}`;

export function target(fields: Partial<S3Target> = {}): S3Target {
  const { endpoint, region, bucket, access_key_id, secret_access_key } = s3;
  return {
    endpoint_url: endpoint,
    region,
    bucket_name: bucket,
    addressing_style: "auto",
    put_headers: {},
    checksums: true,
    credentials: { access_key_id, secret_access_key },
    ...fields,
  };
}

export function client(fields: Partial<S3Target> = {}, options: Partial<S3Options> = {}) {
  const limits = { base_ms: 1, attempts: 4, attempt_ms: 10_000, ...options.limits };
  return s3Client(target(fields), { policy: { allow_private: true }, ...options, limits });
}

const proxies: FaultProxy[] = [];

export async function faulty(): Promise<FaultProxy> {
  const proxy = await startFaultProxy(s3.endpoint);
  proxies.push(proxy);
  return proxy;
}

afterAll(async () => {
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
});
