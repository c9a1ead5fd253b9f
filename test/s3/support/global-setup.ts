// The server that is named by S3_ENDPOINT, or Ceph.
import type { TestProject } from "vitest/node";
import { teardown as end, setupWith } from "../../e2e/support/global-setup.ts";
import { startCeph } from "../../support/node/ceph.ts";
import type { StartedS3 } from "../../support/node/s3-server.ts";

export async function setup(project: TestProject) {
  await setupWith(project, process.env.S3_ENDPOINT === undefined ? startCeph : named);
}

export async function teardown() {
  await end();
}

async function named(): Promise<StartedS3> {
  return {
    info: {
      endpoint: read("S3_ENDPOINT"),
      region: read("S3_REGION"),
      bucket: read("S3_BUCKET"),
      access_key_id: read("S3_ACCESS_KEY_ID"),
      secret_access_key: read("S3_SECRET_ACCESS_KEY"),
      other: {
        access_key_id: read("S3_OTHER_ACCESS_KEY_ID"),
        secret_access_key: read("S3_OTHER_SECRET_ACCESS_KEY"),
      },
    },
    stop: async () => undefined,
  };
}

function read(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; with S3_ENDPOINT all of them must be.`);
  return value;
}
