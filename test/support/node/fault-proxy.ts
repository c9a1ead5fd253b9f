// An HTTP proxy in front of one server that fails on demand, as networks and busy servers do.
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, Socket } from "node:net";

export type Seen = { method: string; path: string; headers: IncomingHttpHeaders };

type Failure =
  /** Instead of the server; the request does not reach it. */
  | { answer: { status: number; headers?: Record<string, string>; body?: string } }
  /** Both connections are reset once this much of the body went through. */
  | { cut_after_bytes: number }
  /** The server answers, and the client receives nothing. */
  | { lose_answer: true }
  /** The connection stays open without an answer. */
  | { hang: true };

export type Fault = Failure & {
  /** How often; else once. */
  times?: number;
  /** Which requests; else the next, whatever it is. */
  when?(request: Seen): boolean;
};

export type FaultProxy = {
  url: string;
  seen: Seen[];
  /** Faults wait in this order; the first that fits a request is used up on it. */
  fail(...faults: Fault[]): void;
  /** From now on nothing fails. */
  heal(): void;
  close(): Promise<void>;
};

type Armed = { fault: Fault; left: number };

export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const armed: Armed[] = [];
  const seen: Seen[] = [];
  const server = createServer((incoming, response) => {
    const { method = "", url: path = "/", headers } = incoming;
    seen.push({ method, path, headers });
    const fault = take(armed, { method, path, headers });
    incoming.on("error", () => undefined);
    serve(new URL(target), incoming, response, fault);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    fail: (...faults) => {
      armed.push(...faults.map((fault) => ({ fault, left: fault.times ?? 1 })));
    },
    heal: () => {
      armed.length = 0;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function take(armed: Armed[], request: Seen): Fault | undefined {
  const found = armed.find(({ fault, left }) => left > 0 && (fault.when?.(request) ?? true));
  if (found) found.left -= 1;
  return found?.fault;
}

function serve(
  target: URL,
  incoming: IncomingMessage,
  response: ServerResponse,
  fault: Fault | undefined,
): void {
  if (fault && "hang" in fault) {
    incoming.resume();
  } else if (fault && "answer" in fault) {
    const { status, headers = {}, body = "" } = fault.answer;
    incoming.resume();
    incoming.on("end", () => response.writeHead(status, headers).end(body));
  } else {
    forward(target, incoming, response, fault);
  }
}

function forward(
  target: URL,
  incoming: IncomingMessage,
  response: ServerResponse,
  fault: Fault | undefined,
): void {
  const { method = "GET", url: path = "/", headers } = incoming;
  const { hostname, port } = target;
  const outgoing = request({ hostname, port, method, path, headers, agent: false }, (answer) => {
    if (fault && "lose_answer" in fault) {
      answer.resume();
      answer.on("end", () => reset(incoming));
      return;
    }
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  outgoing.on("error", () => reset(incoming));
  if (fault && "cut_after_bytes" in fault) {
    let left = fault.cut_after_bytes;
    incoming.on("data", (chunk: Buffer) => {
      left -= chunk.byteLength;
      if (left > 0) return;
      outgoing.destroy();
      reset(incoming);
    });
  }
  incoming.pipe(outgoing);
}

function reset({ socket }: IncomingMessage): void {
  if (socket instanceof Socket) socket.resetAndDestroy();
}
