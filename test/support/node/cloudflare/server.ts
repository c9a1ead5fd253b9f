// An account of Cloudflare behind the API v4 over HTTP, for wrangler and `npm run deploy`. D1 databases are SQLite.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { ApiFailure, type Call, failure, route, success } from "./api.ts";
import { Buckets } from "./buckets.ts";
import { Databases } from "./databases.ts";
import { Queues } from "./queues.ts";
import { Workers } from "./workers.ts";

/** Fails calls whose `METHOD /path body` matches. */
type Fault = {
  match: RegExp;
  status: number;
  code: number;
  message: string;
  times: number;
  /** The call takes effect, and its answer is lost. */
  isLost: boolean;
};

type FaultOptions = Partial<Pick<Fault, "times" | "isLost">>;

export type CloudflareAccount = Awaited<ReturnType<typeof startCloudflare>>;

export async function startCloudflare() {
  const account = { id: "0123456789abcdef0123456789abcdef", token: "token-of-the-test" };
  const state = {
    databases: new Databases(),
    buckets: new Buckets(),
    queues: new Queues(),
    workers: new Workers(),
  };
  const routes = Object.assign({}, ...Object.values(state).map((part) => part.routes));
  const faults: Fault[] = [];
  const calls: string[] = [];

  async function answer(request: IncomingMessage): Promise<unknown> {
    const call = await readCall(request, account.id);
    const name = `${call.method} ${call.path}`;
    calls.push(name);
    assertToken(request.headers.authorization, `Bearer ${account.token}`, call.path);
    const text = `${name} ${call.body.subarray(0, 2000)}`;
    const fault = faults.find(({ match, times }) => times > 0 && match.test(text));
    if (fault && !fault.isLost) throw failOnce(fault);
    const result = await route(routes, call);
    if (fault) throw failOnce(fault);
    return result;
  }

  const server = createServer((request, response) => {
    answer(request).then(
      (result) => {
        response.writeHead(200, { "Content-Type": "application/json" });
        response.end(JSON.stringify(success(result)));
      },
      (error) => {
        const problem =
          error instanceof ApiFailure ? error : new ApiFailure(500, 10013, String(error));
        const headers = problem.status === 429 ? { "Retry-After": "1" } : {};
        response.writeHead(problem.status, { "Content-Type": "application/json", ...headers });
        response.end(JSON.stringify(failure(problem)));
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...account,
    ...state,
    calls,
    url: `http://127.0.0.1:${port}/client/v4`,
    fail: (
      match: RegExp,
      error: Pick<Fault, "status" | "code" | "message">,
      options: FaultOptions = {},
    ) => {
      faults.push({ match, ...error, times: 1, isLost: false, ...options });
    },
    /** Ends the faults that remain. */
    repair: () => faults.splice(0),
    /** Calls since the last time that change something. */
    takeChanges: () => {
      const all = calls.splice(0);
      return all.filter((call) => !call.startsWith("GET ") && !call.endsWith("/query"));
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function readCall(request: IncomingMessage, account_id: string): Promise<Call> {
  const { method = "", headers, url = "" } = request;
  const { pathname, searchParams } = new URL(url, "http://cloudflare.test");
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const jurisdiction = headers["cf-r2-jurisdiction"];
  return {
    method,
    path: pathname.replace(`/client/v4/accounts/${account_id}`, ""),
    query: searchParams,
    body: Buffer.concat(chunks),
    jurisdiction: typeof jurisdiction === "string" ? jurisdiction : null,
    content_type: headers["content-type"] ?? "",
  };
}

function failOnce(fault: Fault): ApiFailure {
  fault.times -= 1;
  return new ApiFailure(fault.status, fault.code, fault.message);
}

/** Assets are uploaded with the token of their session. */
function assertToken(actual: string | undefined, expected: string, path: string): void {
  if (path.startsWith("/workers/assets/upload")) return;
  if (actual !== expected) throw new ApiFailure(401, 9109, "Invalid access token");
}
