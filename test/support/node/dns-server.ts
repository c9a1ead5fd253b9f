// A DNS-over-HTTPS resolver that knows the names of the tests.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type StartedDns = { url: string; stop(): Promise<void> };

type Zone = Partial<Record<"CNAME" | "A" | "AAAA", string[]>> & { Status?: Record<string, number> };

const PUBLIC: Zone = { A: ["8.8.8.8"], AAAA: ["2606:4700::1111"] };
/** Every other name of example.com is public, and every other name at all is unknown. */
const ZONES: Record<string, Zone> = {
  "private.example.com": { A: ["10.0.0.1"] },
  "mixed.example.com": { A: ["8.8.8.8"], AAAA: ["::1"] },
  "alias.example.com": { CNAME: ["box.corp.example.com."], A: ["192.168.0.7"] },
  "dangling.example.com": { CNAME: ["db.default.svc.cluster.local."] },
  "empty.example.com": {},
  "unknown.example.com": { Status: { A: 3, AAAA: 3 } },
  "failing.example.com": { Status: { A: 2, AAAA: 2 } },
  "half.example.com": { A: ["8.8.8.8"], Status: { AAAA: 2 } },
};
const TYPES = { A: 1, CNAME: 5, AAAA: 28 };
const NXDOMAIN = 3;

export async function startDns(): Promise<StartedDns> {
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? "/", "http://localhost");
    const type = searchParams.get("type") === "AAAA" ? "AAAA" : "A";
    response.setHeader("Content-Type", "application/dns-json");
    response.end(JSON.stringify(answerTo(searchParams.get("name") ?? "", type)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { url: `http://127.0.0.1:${port}/dns-query`, stop };
}

function answerTo(name: string, type: "A" | "AAAA") {
  const zone = ZONES[name] ?? (name.endsWith(".example.com") ? PUBLIC : undefined);
  if (zone === undefined) return { Status: NXDOMAIN };
  const of = (kind: "CNAME" | "A" | "AAAA") =>
    (zone[kind] ?? []).map((data) => ({ type: TYPES[kind], data }));
  return { Status: zone.Status?.[type] ?? 0, Answer: [...of("CNAME"), ...of(type)] };
}
