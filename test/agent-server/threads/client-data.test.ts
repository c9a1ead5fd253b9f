import { AIMessage, HumanMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { testDeployment } from "../../support/agent-deployment.ts";
import { envelopes, jsonWithEnvelopes } from "../../support/envelopes.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Values = Record<string, unknown> & {
  messages: { type: string; additional_kwargs: Record<string, unknown> }[];
  seen: Record<string, unknown>;
};
type State = { values: Values; interrupts: { value: unknown }[]; next: string[] };

let owner: TestWorkspace;
let agent: string;

beforeAll(async () => {
  owner = await workspace();
  agent = `/agents/${(await testDeployment(owner.workspace_id)).deployment_id}`;
});

async function call(method: string, path: string, json?: unknown): Promise<unknown> {
  const options = { key: owner.editor, method, ...(json !== undefined && { json }) };
  const response = await api(`${agent}${path}`, options);
  const text = await response.text();
  expect([response.status, text]).toEqual([response.status < 300 ? response.status : 200, text]);
  return text === "" ? null : JSON.parse(text);
}

async function newThread() {
  const { thread_id } = (await call("POST", "/threads", {})) as { thread_id: string };
  const path = `/threads/${thread_id}`;
  const post = (to: string, json: unknown) => call("POST", path + to, json);
  return {
    run: (body: object, assistant_id = "keeps") =>
      post("/runs/wait", { assistant_id, ...body }) as Promise<Values>,
    update: (body: object) => post("/state", body),
    tryUpdate: (json: object) => api(`${agent}${path}/state`, { key: owner.editor, json }),
    state: () => call("GET", `${path}/state`) as Promise<State>,
    history: () => post("/history", { limit: 100 }) as Promise<State[]>,
  };
}

const user = (value: unknown) => ({
  role: "user",
  content: "hi",
  additional_kwargs: { value },
  response_metadata: { value },
});

/** Key order counts as well. */
function expectSame(received: unknown, sent: unknown) {
  expect(JSON.stringify(received)).toBe(JSON.stringify(sent));
}

async function keepInState(value: unknown) {
  const { run, state, update, history } = await newThread();
  await run({ input: { data: value, messages: [user(value)] }, context: { data: value } });
  const before = await state();
  expectSame(before.values.data, value);
  expectSame(before.values.seen.stored, value);
  expectSame(before.values.seen.context, { data: value });
  expectSame(before.values.messages[0]?.additional_kwargs, { value });
  expectSame(before.interrupts[0]?.value, { data: value });

  const answered = await run({ command: { resume: [value] } });
  expectSame(answered.answer, [value]);
  await update({ values: { data: [value], messages: [user([value])] }, as_node: "ask" });
  expectSame((await state()).values.data, [value]);

  const command = { update: { data: { value }, messages: [user(value)] }, goto: "look" };
  await run({ command, config: { configurable: { data: value } } });
  const { values } = await state();
  expectSame(values.data, { value });
  expectSame(values.seen.configurable, value);
  expectSame(values.messages[1]?.additional_kwargs, { value: [value] });
  expectSame(values.messages[2]?.additional_kwargs, { value });
  for (const { values } of await history()) expect(values.seen?.constructed ?? []).toEqual([]);
}

async function keepElsewhere(value: unknown) {
  const item = { namespace: ["clients"], key: "item" };
  await call("PUT", "/store/items", { ...item, value: { value } });
  const kept = (await call("GET", "/store/items?namespace=clients&key=item")) as { value: unknown };
  expectSame(kept.value, { value });
  const { items } = (await call("POST", "/store/items/search", {
    namespace_prefix: ["clients"],
  })) as { items: { value: unknown }[] };
  expectSame(items[0]?.value, { value });
  const plain = await newThread();
  expectSame((await plain.run({ input: { data: value } }, "keeps_plainly")).echoed, value);
}

describe("what a client sends comes back unchanged, and constructs no class", () => {
  test.each(Object.entries(envelopes))("%s", async (_name, envelope) => {
    await keepInState([envelope]);
    await keepElsewhere([envelope]);
  });

  test("random JSON (seeded)", { timeout: 120_000 }, async () => {
    const property = fc.asyncProperty(jsonWithEnvelopes(), async (value) => {
      await keepInState([value]);
      await keepElsewhere([value]);
    });
    await fc.assert(property, { seed: 11, numRuns: 60 });
  });
});

describe("messages of clients", () => {
  test("a message that an SDK serialized is a message", async () => {
    const { run, state } = await newThread();
    const sent = [
      new HumanMessage({ content: "hi", additional_kwargs: { a: 1 } }),
      new AIMessage("ho"),
    ];
    await run({ input: { messages: JSON.parse(JSON.stringify(sent)), data: 1 } });
    const { messages } = (await state()).values;
    expect(messages).toMatchObject([
      { type: "human", content: "hi", additional_kwargs: { a: 1 } },
      { type: "ai", content: "ho" },
    ]);
  });

  const refused = Object.entries(envelopes).filter(([name]) => name !== "human");
  test.each(refused)(
    "an object that is not a message fails only one run: %s",
    async (_name, message) => {
      const { run, state } = await newThread();
      await run({ input: { messages: [user(1)], data: 1 } });
      const failed = await run({ input: { messages: [message] } }).catch(() => null);
      expect(failed).toHaveProperty("__error__");
      expect((await state()).values.messages).toHaveLength(1);
      await run({ input: { messages: [user(2)], data: 2 } });
      const { values } = await state();
      expect(values.messages).toHaveLength(2);
      expect(values.seen.constructed).toEqual([]);
    },
  );

  test("a command whose update is refused fails its run alone", async () => {
    const { run, state, history } = await newThread();
    await run({ input: { messages: [user(1)], data: 1 } });
    for (const resume of [undefined, "yes"]) {
      const command = { update: { messages: [envelopes.unknown_class] }, goto: "look", resume };
      expect(await run({ command })).toHaveProperty("__error__");
      expect((await state()).values.messages).toHaveLength(1);
      expect((await history())[0]?.values.messages).toHaveLength(1);
    }
    const answered = await run({ command: { resume: "yes", update: { messages: [user(2)] } } });
    expect([answered.answer, answered.messages.length]).toEqual(["yes", 2]);
  });

  test("a state update that is refused changes nothing", async () => {
    const { run, state, tryUpdate } = await newThread();
    await run({ input: { messages: [user(1)], data: 1 } });
    const values = { messages: [envelopes.unknown_class] };
    expect((await tryUpdate({ values, as_node: "look" })).status).toBe(422);
    expect((await state()).interrupts).toHaveLength(1);
    expect((await run({ command: { resume: "yes" } })).answer).toBe("yes");
  });

  test.each([
    ["a secret", { content: envelopes.secret }],
    ["a prompt template", { content: [envelopes.template] }],
    ["fields named like methods", { content: "x", toDict: 1, toJSON: 1, lc_kwargs: 1, lc_id: 1 }],
    ["response metadata as text", { content: "x", response_metadata: "output_version" }],
  ])(
    "a serialized message with %s as its fields leaves the thread usable",
    async (_what, kwargs) => {
      const { run, state } = await newThread();
      const id = ["langchain_core", "messages", "HumanMessage"];
      await run({ input: { messages: [{ lc: 1, type: "constructor", id, kwargs }], data: 1 } });
      await run({ input: { messages: [user(2)], data: 2 } });
      const { values } = await state();
      expect(values.messages).toHaveLength(2);
      expectSame(values.messages[0], { ...values.messages[0], ...kwargs });
    },
  );
});
