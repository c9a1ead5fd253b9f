import { afterAll, beforeAll, expect, test } from "vitest";

const outside = globalThis.fetch;
const sent: Request[] = [];
let asRun: typeof import("../../../src/isolate/agent/tokens.ts").asRun;
beforeAll(async () => {
  // The module wraps the function that it finds.
  globalThis.fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
    sent.push(new Request(input, init));
    return new Response();
  };
  ({ asRun } = await import("../../../src/isolate/agent/tokens.ts"));
});
afterAll(() => {
  globalThis.fetch = outside;
});

const OWN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const host = { authenticate: () => Promise.reject(new Error("not called")) };

async function sentBy(traceparent: string | null, init: RequestInit = {}): Promise<Request> {
  await asRun({ host, traceparent }, () => fetch("https://tools.example/", init));
  const request = sent.pop();
  if (request === undefined) throw new Error("nothing was sent");
  return request;
}

test("calls of a run continue the trace of its caller, with their own method, headers and body", async () => {
  const request = await sentBy(OWN, { method: "POST", body: "{}", headers: { "x-own": "1" } });
  expect(Object.fromEntries(request.headers)).toMatchObject({ traceparent: OWN, "x-own": "1" });
  expect([request.method, await request.text()]).toEqual(["POST", "{}"]);
});

test("a header of the agent's own stays, and a run without a caller adds none", async () => {
  const headers = { traceparent: "00-1-2-00" };
  expect((await sentBy(OWN, { headers })).headers.get("traceparent")).toBe("00-1-2-00");
  expect((await sentBy(null)).headers.get("traceparent")).toBeNull();
});
