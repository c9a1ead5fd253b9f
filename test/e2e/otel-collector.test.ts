import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT_CONTEXT, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { afterAll, beforeAll, expect, test as vitestTest } from "vitest";
import { freePort } from "../../local/processes/ports.ts";
import { request } from "./support/http.ts";
import { stack, until } from "./support/stack.ts";
import { createWorkspace } from "./support/workspaces.ts";

type Run = Record<string, unknown> & { name: string };
type Headers = Record<string, string>;

const PROJECT = "collected";
/** Program with an OTLP receiver and an OTLP/HTTP exporter, such as `otelcol`. None installs from a registry. */
const COLLECTOR = process.env.OTEL_COLLECTOR;
const test = vitestTest.skipIf(COLLECTOR === undefined);

/** How the Collector can send: each kind has another workspace. */
const KINDS = [
  { encoding: "proto", compression: "gzip" },
  { encoding: "proto", compression: "zstd" },
  { encoding: "proto", compression: "none" },
  { encoding: "json", compression: "gzip" },
];

/** Refuses the first request of each kind in each of these ways, one after the other, and passes on the later ones. */
const REFUSALS = [503, 429, "reset", 502] as const;
const refused = new Map<string, number>();
const door: Server = createServer(async (incoming, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const { url = "", headers } = incoming;
  const key = String(headers["x-api-key"]);
  const attempt = refused.get(key) ?? 0;
  const refusal = REFUSALS[attempt];
  if (refusal !== undefined) {
    refused.set(key, attempt + 1);
    if (refusal === "reset") incoming.socket.destroy();
    else response.writeHead(refusal, { "retry-after": "1" }).end();
    return;
  }
  const { host: _, connection: __, "content-length": ___, ...passed } = headers;
  const init = { method: "POST", headers: passed as Headers, body: Buffer.concat(chunks) };
  const answer = await fetch(stack.base_url + url, init);
  const type = answer.headers.get("content-type") ?? "";
  const body = Buffer.from(await answer.arrayBuffer());
  response.writeHead(answer.status, { "content-type": type }).end(body);
});

let folder: string;
let collector: ChildProcess;
let direct: Headers;
let workspaces: Headers[];
let endpoint: string;

beforeAll(async () => {
  if (COLLECTOR === undefined) return;
  await new Promise<void>((resolve) => door.listen(0, "127.0.0.1", resolve));
  direct = await createWorkspace();
  workspaces = await Promise.all(KINDS.map(() => createWorkspace()));
  const { port } = door.address() as AddressInfo;
  const exporters = KINDS.map((kind, n) => ({
    ...{ ...kind, endpoint: `http://127.0.0.1:${port}/otel` },
    headers: { "x-api-key": workspaces[n]?.["x-api-key"], "Langsmith-Project": PROJECT },
    retry_on_failure: { initial_interval: "100ms", max_interval: "1s" },
  }));
  const names = exporters.map((_, n) => `otlp_http/${n}`);
  const receiver = await freePort();
  endpoint = `http://127.0.0.1:${receiver}/v1/traces`;
  const settings = {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${receiver}` } } } },
    exporters: Object.fromEntries(exporters.map((exporter, n) => [names[n], exporter])),
    service: {
      telemetry: { metrics: { level: "none" }, logs: { level: "error" } },
      pipelines: { traces: { receivers: ["otlp"], exporters: names } },
    },
  };
  folder = await mkdtemp(join(tmpdir(), "heddle-collector-"));
  // YAML contains JSON.
  await writeFile(join(folder, "config.yaml"), JSON.stringify(settings));
  const args = ["--config", `file:${join(folder, "config.yaml")}`];
  collector = spawn(COLLECTOR, args, { stdio: "inherit" });
  await until(
    "The Collector",
    () => fetch(endpoint, { method: "POST" }).then(String, () => collector.exitCode),
    (answer) => answer !== null,
  );
});
afterAll(async () => {
  door.close();
  collector?.kill();
  if (folder !== undefined) await rm(folder, { recursive: true });
});

/** Sends the spans of an agent to the Collector, and to Heddle without it. */
async function runAgent(): Promise<void> {
  const url = `${stack.base_url}/otel/v1/traces`;
  const headers = { "x-api-key": direct["x-api-key"] ?? "", "Langsmith-Project": PROJECT };
  const exporters = [
    new OTLPTraceExporter({ url: endpoint }),
    new OTLPTraceExporter({ url, headers }),
  ];
  const provider = new TracerProvider({
    spanProcessors: exporters.map((exporter) => new BatchSpanProcessor({ exporter })),
  });
  const tracer = provider.getTracer("agent");
  const root = tracer.startSpan("invoke_agent", {
    attributes: { "gen_ai.operation.name": "invoke_agent" },
  });
  const below = trace.setSpan(ROOT_CONTEXT, root);
  for (let n = 0; n < 20; n++) {
    const attributes = {
      ...{ "gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1" },
      ...{ "gen_ai.usage.input_tokens": 10 + n, "gen_ai.usage.output_tokens": 5 },
      "gen_ai.input.messages": messages("user", `question ${n}`),
      "gen_ai.output.messages": messages("assistant", `answer ${n}`),
    };
    tracer.startSpan(`chat ${n}`, { attributes }, below).end();
  }
  const tool = tracer.startSpan(
    "execute_tool",
    { attributes: { "gen_ai.tool.name": "find" } },
    below,
  );
  tool.recordException(new Error("no such page"));
  tool.setStatus({ code: SpanStatusCode.ERROR, message: "no such page" });
  tool.end();
  root.end();
  await provider.shutdown();
}

/** Messages as an attribute has them. */
function messages(role: string, content: string): string {
  return JSON.stringify([{ role, parts: [{ type: "text", content }] }]);
}

const SPANS = 22;

/** Returns the runs without what differs between two workspaces. */
async function readRuns(headers: Headers): Promise<Run[]> {
  const sessions = await request<{ id: string }[]>(
    "GET",
    `/sessions?name=${PROJECT}`,
    undefined,
    headers,
  );
  const query = { session: sessions.body.map(({ id }) => id), limit: 100, order: "asc" };
  const { body } = await request<{ runs: Run[] }>("POST", "/runs/query", query, headers);
  return body.runs
    .map(({ session_id: _, app_path: __, ...run }) => run as Run)
    .sort((a, b) => a.name.localeCompare(b.name));
}

test("spans that the Collector forwards arrive once and unchanged, however it sends and whatever it met before", async () => {
  await runAgent();
  const all = (runs: Run[]) => runs.length === SPANS;
  const ours = await until("The spans that were sent directly", () => readRuns(direct), all);
  for (const [n, workspace] of workspaces.entries()) {
    const kind = JSON.stringify(KINDS[n]);
    const theirs = await until(`The spans by ${kind}`, () => readRuns(workspace), all);
    expect(theirs, kind).toEqual(ours);
  }
  expect([...refused.values()]).toEqual(KINDS.map(() => REFUSALS.length));
  const failed = ours.find(({ name }) => name === "execute_tool");
  expect(failed).toMatchObject({ status: "error", error: expect.stringContaining("no such page") });
});
