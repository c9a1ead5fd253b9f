import { readFile } from "node:fs/promises";
import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, test } from "vitest";
import { envelopes } from "../support/envelopes.ts";
import { client } from "./support/clients.ts";
import { deploy } from "./support/deployments.ts";
import { request } from "./support/http.ts";
import type { Files } from "./support/repositories.ts";
import { traceOf } from "./support/tracing.ts";

type Values = {
  messages: { additional_kwargs: object }[];
  seen: { stored: unknown; constructed: string[] };
  data: unknown;
  answer: unknown;
};

const SECRET = "the-secret-of-this-deployment";

function manifest(core: string, langgraph: string, checkpoint: string): Files {
  const dependencies = {
    "@langchain/core": core,
    "@langchain/langgraph": langgraph,
    "@langchain/langgraph-checkpoint": checkpoint,
    zod: "3.25.76",
  };
  return { "package.json": JSON.stringify({ name: "keeps", type: "module", dependencies }) };
}

async function current(): Promise<Files> {
  const read = (file: string) => readFile(`examples/chat/${file}`, "utf8");
  return {
    "package.json": await read("package.json"),
    "package-lock.json": await read("package-lock.json"),
  };
}

const versions: [name: string, packages: () => Files | Promise<Files>, isVulnerable: boolean][] = [
  ["core 0.3.40", () => manifest("0.3.40", "0.2.68", "0.0.18"), true],
  ["core 0.3.79", () => manifest("0.3.79", "0.4.9", "0.1.3"), true],
  ["core 1.1.0", () => manifest("1.1.0", "1.0.2", "1.0.0"), true],
  ["the prebuilt versions", current, false],
];

async function deployAgent(packages: Files) {
  const files = {
    ...packages,
    "langgraph.json": JSON.stringify({ graphs: { keeps: "./keeps.ts:keeps" } }),
    "keeps.ts": await readFile("test/fixtures/agents/keeps.ts", "utf8"),
  };
  const secrets = [{ name: "MY_SECRET", value: SECRET }];
  return deploy("keeps", files, { secrets });
}

/** Requests to one deployment, and the text of every answer. */
function recorder(deployment_id: string) {
  const texts: string[] = [];
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await request<T>(method, `/agents/${deployment_id}${path}`, body);
    texts.push(JSON.stringify(answer.body));
    expect([answer.status, answer.body]).toEqual([200, answer.body]);
    return answer.body;
  };
  return { texts, call };
}

const user = (value: unknown) => ({
  role: "user",
  content: "2+2",
  additional_kwargs: { value },
});

async function warningsOf(id: string, revision_id: string): Promise<string> {
  const path = `/v1/projects/${id}/revisions/${revision_id}/build_logs`;
  type Logs = { logs: { level: string; message: string }[] };
  const { body } = await request<Logs>("POST", path, {});
  const warnings = body.logs.filter(({ level }) => level === "WARNING");
  return warnings.map(({ message }) => message).join("\n");
}

async function exploit(deployment_id: string) {
  const { texts, call } = recorder(deployment_id);
  const { thread_id } = await call<{ thread_id: string }>("POST", "/threads", {});
  const thread = `/threads/${thread_id}`;
  const run = (body: object) =>
    call<Values>("POST", `${thread}/runs/wait`, { assistant_id: "keeps", ...body });
  const state = () => call<{ values: Values }>("GET", `${thread}/state`);
  const data = Object.values(envelopes);

  const streamed = { input: { data, messages: [user(data)] }, stream_mode: ["values", "debug"] };
  await call("POST", `${thread}/runs/stream`, { assistant_id: "keeps", ...streamed });
  const firstValues = (await state()).values;
  expect(JSON.stringify(firstValues.data)).toBe(JSON.stringify(data));
  expect(JSON.stringify(firstValues.seen.stored)).toBe(JSON.stringify(data));
  expect(JSON.stringify(firstValues.messages[0]?.additional_kwargs)).toBe(
    JSON.stringify({ value: data }),
  );
  const answered = await run({ command: { resume: data } });
  expect(JSON.stringify(answered.answer)).toBe(JSON.stringify(data));
  await call("POST", `${thread}/state`, { values: { messages: [user(data)] }, as_node: "ask" });
  await run({ input: { data: 1, messages: [user(1)] } });
  const { values } = await state();
  expect(values.messages).toHaveLength(3);
  expect(values.seen.constructed).toEqual([]);

  await call("POST", `${thread}/history`, { limit: 100 });
  await call("GET", thread);
  await call("POST", "/threads/search", {});
  await call("POST", "/store/items/search", { namespace_prefix: [] });
  const runs = await call<{ run_id: string }[]>("GET", `${thread}/runs`);
  for (const { run_id } of runs) texts.push(JSON.stringify(await traceOf(run_id)));
  expect(texts.length).toBeGreaterThan(12);
  expect(texts.filter((text) => text.includes(SECRET))).toEqual([]);
}

describe.each(versions)("an agent with %s", (_name, packages, isVulnerable) => {
  test("returns what looks like a serialized object as data, and no secret", async () => {
    const { id, revision } = await deployAgent(await packages());
    const warnings = await warningsOf(id, revision.id);
    expect(/@langchain\/core .* GHSA-r399-636x-v7f6 .* Update it to/.test(warnings)).toBe(
      isVulnerable,
    );
    await exploit(id);

    const sdk = client(id);
    const { thread_id } = await sdk.threads.create();
    const input = { data: 1, messages: [new HumanMessage("from the SDK")] };
    await sdk.runs.wait(thread_id, "keeps", { input });
    const { values } = await sdk.threads.getState<Values>(thread_id);
    expect(values.messages).toMatchObject([{ type: "human", content: "from the SDK" }]);
  });
});
