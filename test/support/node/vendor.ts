import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { freePort } from "../../../local/processes/ports.ts";

export type Vendor = {
  origin: string;
  seen: { method: string; path: string; authorization: string; body: string }[];
  close(): void;
};

/** The addresses of GitHub and of Slack in one: consents at once, gives `tok`, revokes as they do. */
export async function startVendor(): Promise<Vendor> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const seen: Vendor["seen"] = [];
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "/", origin);
    const { method = "", headers } = request;
    const body = await read(request);
    seen.push({ method, path: url.pathname, authorization: headers.authorization ?? "", body });
    answer(method, url, response);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    origin,
    seen,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function answer(method: string, { pathname, searchParams }: URL, response: ServerResponse) {
  if (method === "DELETE") return response.writeHead(204).end();
  if (pathname === "/authorize") {
    const back = new URL(searchParams.get("redirect_uri") ?? "");
    back.searchParams.set("state", searchParams.get("state") ?? "");
    back.searchParams.set("code", "one");
    return response.writeHead(302, { location: back.href }).end();
  }
  const body = pathname.endsWith("/auth.revoke") ? { ok: true } : { ok: true, access_token: "tok" };
  return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function read(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request) body += chunk;
  return body;
}
