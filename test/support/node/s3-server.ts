// The S3 server that a test run uses: the one of the local stack's kind, or one that is named.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startS3 } from "../../../local/s3/server.ts";
import type { Keys, S3Info } from "../s3-info.ts";
import type { KeyKeeper } from "./key-desk.ts";

export type StartedS3 = {
  info: Omit<S3Info, "key_desk">;
  keys?: KeyKeeper;
  stop(): Promise<void>;
};

const USERS = {
  app: { access_key_id: "HEDDLEAPP000000000001", secret_access_key: "app-secret-of-the-tests" },
  other: { access_key_id: "HEDDLEOTHER0000000002", secret_access_key: "other-secret-of-the-tests" },
};

/** Strict about signatures, regions, checksums and parts. */
export async function startLocalS3(): Promise<StartedS3> {
  const dir = await mkdtemp(join(tmpdir(), "heddle-s3-"));
  const server = await startS3({
    dir,
    users: [
      { name: "app", ...USERS.app },
      { name: "other", ...USERS.other },
    ],
    buckets: ["exports"],
    region: "eu-test-1",
  });
  const { endpoint, region } = server;
  const stop = async () => {
    await server.close();
    await rm(dir, { recursive: true, force: true });
  };
  const keys = {
    add: async (more: Keys) => server.addKey({ name: "app", ...more }),
    remove: async (access_key_id: string) => server.removeKey(access_key_id),
  };
  const info = { endpoint, region, bucket: "exports", ...USERS.app, other: USERS.other };
  return { info, keys, stop };
}
