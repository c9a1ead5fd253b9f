import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type SilentServer = {
  url: string;
  /** Targets of the requests that wait for a response. */
  open: ReadonlySet<string>;
  /** The largest size of `open`. */
  most(): number;
  close(): void;
};

/** Starts a server that reads requests and never responds. */
export async function startSilentServer(): Promise<SilentServer> {
  const open = new Set<string>();
  let most = 0;
  const server = createServer((incoming, response) => {
    const { url = "" } = incoming;
    open.add(url);
    most = Math.max(most, open.size);
    response.once("close", () => open.delete(url));
    incoming.resume();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url, open, most: () => most, close };
}
