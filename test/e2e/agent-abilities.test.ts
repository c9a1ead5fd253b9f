import { once } from "node:events";
// Abilities of an agent's code: files, modules, code, the network. docs/reference/agents.md describes them.
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ADD_WASM, PROBE_FILES, PROBE_IMPORTS, PROBES } from "../fixtures/probes/probes.ts";
import { client } from "./support/clients.ts";
import { deploy } from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { stack } from "./support/stack.ts";

type Result = { value?: unknown; error?: string };
type LogEntry = { message: string };

const CONFIG = {
  graphs: { probes: "./src/agent.ts:probes" },
  env: { GREETING: "hi" },
};

/** Each probe is one line of the file. */
function agentSource(): string {
  const lines = PROBES.map(
    ({ name, code }) => `  ${JSON.stringify(name)}: async () => { ${code} },`,
  );
  return [
    PROBE_IMPORTS,
    `const WASM = ${JSON.stringify(ADD_WASM)};`,
    `const HOST = "127.0.0.1:${stack.agent_port}";`,
    "const all: Record<string, () => Promise<unknown>> = {",
    ...lines,
    "};",
    `export async function probes() {
  const results: Record<string, unknown> = {};
  for (const [name, probe] of Object.entries(all)) {
    try {
      results[name] = { value: await probe() };
    } catch (error) {
      results[name] = { error: String(error) };
    }
  }
  return { results };
}`,
  ].join("\n");
}

const source = agentSource();
let listener: Server;
let results: Record<string, Result>;
let log: string;

beforeAll(async () => {
  listener = createServer((incoming, answer) => {
    incoming.resume().once("end", () => answer.end(`${incoming.method} ${incoming.url}`));
  });
  await once(listener.listen(stack.agent_port, "127.0.0.1"), "listening");
  const { id, revision } = await deploy("abilities", {
    ...PROBE_FILES,
    "langgraph.json": JSON.stringify(CONFIG),
    "src/agent.ts": source,
    "src/add.wasm": Buffer.from(ADD_WASM, "base64"),
  });
  const path = `/v1/projects/${id}/revisions/${revision.id}/build_logs`;
  const { body } = await request<{ logs: LogEntry[] }>("POST", path, {});
  log = body.logs.map(({ message }) => message).join("\n");
  ({ results } = (await client(id).runs.wait(null, "probes", { input: {} })) as {
    results: Record<string, Result>;
  });
});

afterAll(() => {
  listener.closeAllConnections();
  listener.close();
});

describe("an agent", () => {
  test.each(PROBES)("$name", (probe) => {
    const result = results[probe.name];
    if ("returns" in probe) return expect(result).toEqual({ value: probe.returns });
    expect(result?.error).toMatch(probe.throws);
    if (!probe.warning) return;
    const { text, at = probe.code } = probe.warning;
    const line = source.split("\n").findIndex((each) => each.includes(at)) + 1;
    const places = log.split("\n").filter((each) => each.includes(`src/agent.ts:${line}:`));
    expect(places.join("\n")).toContain(text);
  });
});
