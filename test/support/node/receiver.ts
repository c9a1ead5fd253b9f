// A receiver of webhooks: POST /{how}/{name} is recorded and answered as {how}, GET /{name} returns the records.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export type Received = { headers: Record<string, string>; body: string };
export type StartedReceiver = { url: string; stop(): Promise<void> };

type Answer = { status: number; headers?: Record<string, string> };

const HOW: Record<string, (times: number) => Answer | null> = {
  ok: () => ({ status: 204 }),
  "fails-once": (times) => ({ status: times === 1 ? 503 : 200 }),
  fails: () => ({ status: 500 }),
  later: () => ({ status: 429, headers: { "Retry-After": "3600" } }),
  gone: () => ({ status: 410 }),
  moved: () => ({ status: 302, headers: { Location: "/ok/elsewhere" } }),
  // The first request gets no answer, for a Worker that dies in between.
  "silent-once": (times) => (times === 1 ? null : { status: 200 }),
};

export async function startReceiver(): Promise<StartedReceiver> {
  const received = new Map<string, Received[]>();
  const server = createServer(async (request, response) => {
    const [, how = "", name = ""] = (request.url ?? "").split("/");
    if (request.method === "GET") {
      response.end(JSON.stringify(received.get(how) ?? []));
      return;
    }
    const all = received.get(name) ?? [];
    const headers = request.headers as Record<string, string>;
    all.push({ headers, body: await textOf(request) });
    received.set(name, all);
    const answer = HOW[how]?.(all.length);
    if (answer) response.writeHead(answer.status, answer.headers).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const stop = async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
