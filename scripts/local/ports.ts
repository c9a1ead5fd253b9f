import { createServer } from "node:net";

export async function isFree(port: number): Promise<boolean> {
  return (await bind(port)) !== null;
}

/** The wanted port if it can be had, any free one otherwise. */
export async function freePort(wanted = 0): Promise<number> {
  const port = (await bind(wanted)) ?? (await bind(0));
  if (port === null) throw new Error("No free port on 127.0.0.1");
  return port;
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
