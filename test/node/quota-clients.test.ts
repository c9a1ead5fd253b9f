import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client as GraphClient } from "@langchain/langgraph-sdk";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { Client as GraphClient2 } from "langgraph-sdk-2";
import { Client as TraceClient } from "langsmith";
import { afterAll, beforeEach, expect, test } from "vitest";

/** Seconds of a quota that ends in a month, which is longer than a timer of Node can wait. */
const MONTH_S = "2678400";

let requests: string[] = [];
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    if (request.url?.endsWith("/info")) {
      response.writeHead(200, { "Content-Type": "application/json" }).end("{}");
      return;
    }
    requests.push(`${request.method} ${request.url}`);
    response.writeHead(402, { "Retry-After": MONTH_S, "Content-Type": "application/json" });
    response.end('{"error": "used up"}');
  });
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

beforeEach(() => {
  requests = [];
});
afterAll(() => server.close());

test.each([
  ["1.15", GraphClient],
  ["2.0.0", GraphClient2],
])("version %s of LangGraph's SDK sends a run once that a quota refuses", async (_, Client) => {
  const client = new Client({ apiUrl: url, apiKey: "key" });
  const run = client.runs.create("thread", "agent", { input: {} });
  await expect(run).rejects.toMatchObject({ status: 402 });
  const waiting = client.runs.wait(null, "agent", { input: {} });
  await expect(waiting).rejects.toMatchObject({ status: 402 });
  expect(requests).toEqual(["POST /threads/thread/runs", "POST /runs/wait"]);
});

test("LangSmith's SDK sends traces once that a quota refuses", async () => {
  const client = new TraceClient({ apiUrl: url, apiKey: "key" });
  const id = crypto.randomUUID();
  await client.createRun({
    ...{ id, trace_id: id, dotted_order: `20261120T120000000000Z${id}` },
    ...{ name: "refused", run_type: "chain", inputs: {}, project_name: "p" },
  });
  await client.awaitPendingTraceBatches();
  expect(requests).toEqual(["POST /runs/multipart"]);
});

test("an OTLP exporter sends spans once that a quota refuses", async () => {
  const exporter = new OTLPTraceExporter({ url: `${url}/otel/v1/traces` });
  const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] });
  provider.getTracer("test").startSpan("refused").end();
  await provider.forceFlush().catch(() => {});
  await provider.shutdown().catch(() => {});
  expect(requests).toEqual(["POST /otel/v1/traces"]);
});
