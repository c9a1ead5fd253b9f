import { randomInt } from "node:crypto";
import { createServer } from "node:net";

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/** Random ports of earlier calls: a stack chooses several before it listens. */
const reserved = new Set<number>();
const ATTEMPTS = 100;
/**
 * Below the ports that Linux and macOS give to outgoing connections by default. Such a connection could take the port
 * before its server listens.
 */
const RANGE = [20_000, 32_000] as const;

/**
 * Returns the wanted port if it is free, otherwise a random one of the range that no earlier call of this process has
 * returned.
 */
export async function freePort(
  wanted = 0,
  [first, end]: readonly [first: number, end: number] = RANGE,
): Promise<number> {
  if (wanted !== 0 && (await isFree(wanted))) return wanted;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(first, end);
    if (reserved.has(port) || !(await isFree(port))) continue;
    reserved.add(port);
    return port;
  }
  throw new Error("No free port on 127.0.0.1");
}
