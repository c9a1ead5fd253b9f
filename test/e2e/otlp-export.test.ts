import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { afterAll, beforeAll, expect, test } from "vitest";
import { client } from "./support/clients.ts";
import { build, exampleUrl } from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { stack, until } from "./support/stack.ts";
import { createWorkspace } from "./support/workspaces.ts";

type Run = {
  id: string;
  trace_id: string;
  parent_run_id: string | null;
  name: string;
  run_type: string;
  error: string | null;
  start_time: string;
  end_time: string | null;
  total_tokens: number | null;
  inputs: unknown;
  tags: string[];
};
type Received = { url: string | undefined; headers: IncomingHttpHeaders; bytes: number };

const PROJECT = "twin";

/** Receives as another installation does, whose first answer is that it is overloaded. */
const received: Received[] = [];
const receiver: Server = createServer(async (incoming, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const { url, headers } = incoming;
  received.push({ url, headers, bytes: body.byteLength });
  if (received.length === 1) {
    response.writeHead(503, { "retry-after": "1" }).end();
    return;
  }
  const {
    "content-type": type = "",
    "x-api-key": key = "",
    "langsmith-project": project = "",
  } = headers;
  const passed = {
    "content-type": type,
    "x-api-key": String(key),
    "langsmith-project": String(project),
  };
  const answer = await fetch(stack.base_url + url, { method: "POST", headers: passed, body });
  response.writeHead(answer.status).end(await answer.text());
});

let theirs: Record<string, string>;
let chat: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const address = receiver.address();
  const port = typeof address === "object" ? address?.port : 0;
  theirs = await createWorkspace();
  const variables = {
    LANGSMITH_OTEL_ENABLED: "true",
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}/otel`,
    OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${theirs["x-api-key"]},Langsmith-Project=${PROJECT}`,
  };
  const secrets = Object.entries(variables).map(([name, value]) => ({ name, value }));
  chat = (await build("chat", exampleUrl("chat"), { secrets })).id;
});
afterAll(() => receiver.close());

async function traceOf(id: string, headers: Record<string, string> = {}): Promise<Run[]> {
  const query = { trace: id, limit: 100, order: "asc" };
  const { body } = await request<{ runs: Run[] }>("POST", "/runs/query", query, headers);
  return body.runs;
}

test("a deployment's traces arrive whole at the OTLP endpoint that its variables name, after a refusal too", async () => {
  const { thread_id } = await client(chat).threads.create();
  const input = { messages: [{ role: "user", content: "Please refund order 1042 with 19.90" }] };
  const { run_id } = await client(chat).runs.create(thread_id, "chat", { input });
  await client(chat).runs.join(thread_id, run_id);
  const ours = await until(
    "The trace",
    () => traceOf(run_id),
    (runs) => runs.some(({ id, end_time }) => id === run_id && end_time !== null),
  );
  expect(ours.map(({ run_type }) => run_type)).toContain("llm");
  const sent = await until(
    "The trace in the other workspace",
    () => traceOf(run_id, theirs),
    (runs) => runs.length === ours.length,
  );
  const treeOf = (runs: Run[]) => {
    const names = new Map(runs.map(({ id, name }) => [id, name]));
    return runs
      .map((run) => ({
        ...{ name: run.name, run_type: run.run_type, error: run.error, trace_id: run.trace_id },
        ...{ start: run.start_time, end: run.end_time, tokens: run.total_tokens },
        parent: names.get(run.parent_run_id ?? "") ?? null,
      }))
      .sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
  };
  expect(treeOf(sent)).toEqual(treeOf(ours));
  const inputsOf = (runs: Run[]) => runs.find(({ id }) => id === run_id)?.inputs;
  expect(inputsOf(sent)).toEqual(inputsOf(ours));
  expect(received.length).toBeGreaterThan(1);
  expect(received[0]).toMatchObject({
    url: "/otel/v1/traces",
    headers: { "content-type": "application/x-protobuf", "langsmith-project": PROJECT },
  });
});

/** Sends the span of a program that calls the agent to a project. Returns the id of its trace. */
async function callFromProgram(headers: Record<string, string>): Promise<string> {
  const url = `${stack.base_url}/otel/v1/traces`;
  const exporter = new OTLPTraceExporter({ url, headers });
  const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] });
  const span = provider.getTracer("caller").startSpan("checkout");
  const { traceId, spanId } = span.spanContext();
  const input = { messages: [{ role: "user", content: "What is 6 * 7?" }] };
  const run = { assistant_id: "chat", input };
  const traceparent = `00-${traceId}-${spanId}-01`;
  const path = `/agents/${chat}/runs/wait`;
  expect((await request("POST", path, run, { traceparent })).status).toBe(200);
  span.end();
  await provider.shutdown();
  return traceId.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

for (const place of ["the receiver", "the deployment's own project"]) {
  test(`a program's span, the run that it calls and what the agent does are one trace in ${place}`, async () => {
    const isOwn = place !== "the receiver";
    const owner = isOwn ? { "x-api-key": stack.api_key } : theirs;
    const { body } = await request<{ name: string }>("GET", `/v2/deployments/${chat}`);
    const project = isOwn ? body.name : PROJECT;
    const trace_id = await callFromProgram({ ...owner, "Langsmith-Project": project });
    const runs = await until(
      "The whole trace",
      () => traceOf(trace_id, isOwn ? {} : theirs),
      (found) => found.some(({ run_type }) => run_type === "llm"),
    );
    const names = new Map(runs.map(({ id, name }) => [id, name]));
    const parentOf = (name: string) => {
      const found = runs.find((each) => each.name === name);
      return names.get(found?.parent_run_id ?? "") ?? null;
    };
    expect(["checkout", "chat", "model"].map(parentOf)).toEqual([null, "checkout", "chat"]);
    expect(new Set(runs.map((each) => each.trace_id))).toEqual(new Set([trace_id]));
  });
}
