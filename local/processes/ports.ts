import { createServer } from "node:net";

export async function isFree(port: number): Promise<boolean> {
  return (await bind(port)) !== null;
}

/**
 * Random ports of earlier calls. The kernel offers a closed port again, and a stack chooses several before it listens.
 */
const reserved = new Set<number>();
const ATTEMPTS = 100;

/** Returns the wanted port if it is free, otherwise a random one that no earlier call of this process chose. */
export async function freePort(wanted = 0): Promise<number> {
  const own = wanted === 0 ? null : await bind(wanted);
  if (own !== null) return own;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = await bind(0);
    if (port === null || reserved.has(port)) continue;
    reserved.add(port);
    return port;
  }
  throw new Error("No free port on 127.0.0.1");
}

function bind(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(null));
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : null));
    });
  });
}
