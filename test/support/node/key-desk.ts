// Makes and revokes keys of an S3 server for test files, which run in other processes than it.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Keys } from "../s3-info.ts";

export type KeyKeeper = {
  /** Further keys of the user that owns the bucket. */
  add(keys: Keys): Promise<void>;
  remove(access_key_id: string): Promise<void>;
};

export type KeyDesk = { url: string; close(): Promise<void> };

export async function startKeyDesk(keeper: KeyKeeper): Promise<KeyDesk> {
  const server = createServer((request, response) => {
    serve(keeper, request).then(
      () => response.writeHead(204).end(),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serve(keeper: KeyKeeper, request: IncomingMessage): Promise<void> {
  const keys = JSON.parse(await text(request)) as Keys;
  if (request.method === "PUT") return keeper.add(keys);
  if (request.method === "DELETE") return keeper.remove(keys.access_key_id);
  throw new Error(`Keys are PUT and DELETEd, not ${request.method}`);
}
