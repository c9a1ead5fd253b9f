// A DNS-over-HTTPS resolver that knows the names of the tests.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type StartedDns = { url: string; stop(): Promise<void> };

const RECORDS: Record<string, Record<string, string[]>> = {
  "public.test": { A: ["8.8.8.8"], AAAA: ["2606:4700::1111"] },
  "private.test": { A: ["10.0.0.1"] },
  "mixed.test": { A: ["8.8.8.8"], AAAA: ["::1"] },
};
const TYPES: Record<string, number> = { A: 1, AAAA: 28 };

export async function startDns(): Promise<StartedDns> {
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? "/", "http://dns.test");
    const type = searchParams.get("type") ?? "A";
    const found = RECORDS[searchParams.get("name") ?? ""]?.[type] ?? [];
    const Answer = found.map((data) => ({ type: TYPES[type], data }));
    response.setHeader("Content-Type", "application/dns-json");
    response.end(JSON.stringify({ Status: 0, Answer }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { url: `http://127.0.0.1:${port}/dns-query`, stop };
}
