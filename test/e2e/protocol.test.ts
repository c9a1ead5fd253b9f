import { Client, type ThreadStream } from "@langchain/langgraph-sdk";
import { StreamController } from "@langchain/langgraph-sdk/stream";
import { beforeAll, describe, expect, test } from "vitest";
import { client } from "./support/clients.ts";
import { aliveAgain } from "./support/http.ts";
import { killWorker, stack, until } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";

type Chat = { messages: { type: string; content: unknown }[] };
type Log = { log: string[] };
type Event = {
  event_id: string;
  seq: number;
  method: string;
  params: { namespace: string[]; data: Record<string, unknown> };
};

const hi = { messages: [{ role: "user", content: "hi" }] };
const ALL = ["values", "updates", "messages", "tools", "lifecycle", "input", "tasks", "custom"];

let deployment_id: string;
beforeAll(async () => {
  deployment_id = await deployTestAgent();
});

/** Sockets take no headers: the key goes as the name of a subprotocol, which is what a browser can send. */
function socketClient(callerOptions = {}): Client {
  const apiUrl = `${stack.base_url}/agents/${deployment_id}`;
  return new Client({ apiUrl, apiKey: null, callerOptions });
}

function withKey(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("X-Api-Key", stack.api_key);
  return fetch(input, { ...init, headers });
}

const webSocketFactory = (url: string) => {
  const key = Buffer.from(stack.api_key).toString("base64url");
  return new WebSocket(url, ["heddle", `heddle.auth.${key}`]);
};

const transports = {
  sse: (assistantId: string, thread_id: string) =>
    client(deployment_id).threads.stream(thread_id, { assistantId, transport: "sse" }),
  websocket: (assistantId: string, thread_id: string) =>
    socketClient().threads.stream(thread_id, {
      assistantId,
      transport: "websocket",
      webSocketFactory,
    }),
};

/** Everything that a thread emits from now on, each event once. */
function watch(thread: ThreadStream) {
  const events: Event[] = [];
  let wake = Promise.withResolvers<void>();
  thread.onEvent((event) => {
    events.push(event as unknown as Event);
    wake.resolve();
    wake = Promise.withResolvers();
  });
  const until = async (isIt: () => boolean) => {
    while (!isIt()) await wake.promise;
  };
  /** So many runs have ended. */
  const ended = async (n: number) => {
    await until(() => ends(events).length >= n);
    return bySeq(events);
  };
  const all = () => thread.subscribe({ channels: ALL as "values"[] });
  return { events, until, ended, all };
}

function ends(events: Event[]): string[] {
  return events.flatMap(({ method, params }) => {
    const { event } = params.data;
    const isEnd = ["completed", "failed", "interrupted"].includes(String(event));
    return method === "lifecycle" && params.namespace.length === 0 && isEnd ? [String(event)] : [];
  });
}

const bySeq = (events: Event[]) => [...events].sort((a, b) => a.seq - b.seq);

describe.each(Object.entries(transports))("threads.stream of the SDK over %s", (_name, open) => {
  const newThread = (assistantId: string) => open(assistantId, crypto.randomUUID());

  test("a first run makes its thread, tokens come one by one, a second run continues it", async () => {
    const thread = newThread("tokens");
    const seen = watch(thread);
    const { messages } = thread;
    const { run_id } = await thread.run.start({ input: hi });
    expect(run_id).toEqual(expect.any(String));
    for await (const message of messages) {
      const parts: string[] = [];
      for await (const text of message.text) parts.push(text);
      expect(parts.join("")).toBe("one two three");
      expect(parts.length).toBeGreaterThan(3);
      expect(message.node).toBe("model");
      break;
    }
    expect(((await thread.output) as Chat).messages).toHaveLength(2);
    await thread.run.start({ input: hi });
    expect(ends(await seen.ended(2))).toEqual(["completed", "completed"]);
    const { values } = await client(deployment_id).threads.getState<Chat>(thread.threadId);
    expect(values.messages).toHaveLength(4);
    await thread.close();
  });

  test("a late subscription receives every event, however fast the run was", async () => {
    for (let n = 0; n < 5; n++) {
      const thread = newThread("echo");
      await thread.run.start({ input: hi });
      const received: string[] = [];
      for await (const message of thread.messages) received.push(await message.text);
      expect(received).toEqual(["echo: hi"]);
      await thread.close();
    }
  });

  test("graphs within, tools and custom events have handles of their own", async () => {
    const nested = newThread("nested");
    const { subgraphs } = nested;
    await nested.run.start({ input: {} });
    for await (const subgraph of subgraphs) {
      expect(subgraph.name).toBe("inner");
      expect(await subgraph.output).toEqual({ log: ["deep"] });
      break;
    }
    await nested.close();
    const tooled = newThread("tooled");
    const { toolCalls } = tooled;
    await tooled.run.start({ input: hi });
    for await (const call of toolCalls) {
      expect(call).toMatchObject({ name: "look_up", input: { city: "Rome" } });
      expect(await call.output).toBe("sunny in Rome");
      break;
    }
    await tooled.close();
    const echo = newThread("says");
    await echo.run.start({ input: hi });
    expect(await echo.extensions.progress).toEqual({ done: 0.5 });
    await echo.close();
  });

  test("an interrupt is emitted, and its answer continues the run", async () => {
    const thread = newThread("interrupts_within");
    const seen = watch(thread);
    await thread.run.start({ input: {} });
    await seen.ended(1);
    expect(thread.interrupted).toBe(true);
    const [first] = thread.interrupts;
    expect(first?.payload).toEqual({ question: "first?" });
    const { interruptId = "", namespace = [] } = first ?? {};
    await thread.input.respond({ interrupt_id: interruptId, response: "one", namespace });
    await seen.ended(2);
    const [second] = thread.interrupts;
    expect(second?.payload).toEqual({ question: "second?" });
    const answer = { interrupt_id: second?.interruptId ?? "", response: "two", namespace: [] };
    await thread.input.respond({ responses: [answer] });
    expect(ends(await seen.ended(3))).toEqual(["interrupted", "interrupted", "completed"]);
    const { values } = await thread.state.get({ namespace: [] });
    expect(values).toEqual({ log: ["before", "one two", "done"] });
    await expect(thread.input.respond(answer)).rejects.toMatchObject({ code: "invalid_argument" });
    await thread.close();
  });

  test("a fork continues from its checkpoint", async () => {
    const thread = newThread("steps");
    await thread.run.start({ input: { delay_ms: 0 } });
    await thread.output;
    const { threads } = client(deployment_id);
    const history = await threads.getHistory<Log>(thread.threadId);
    const afterA = history.find(({ values }) => values.log.join("") === "a");
    const forked = open("steps", thread.threadId);
    const seen = watch(forked);
    const checkpoint_id = afterA?.checkpoint.checkpoint_id ?? "";
    await forked.run.start({ input: null, forkFrom: checkpoint_id });
    await seen.ended(2);
    expect((await threads.getState<Log>(thread.threadId)).values.log).toEqual(["a", "b", "c"]);
    const children = (await threads.getHistory(thread.threadId, { limit: 100 })).filter(
      ({ parent_checkpoint }) => parent_checkpoint?.checkpoint_id === checkpoint_id,
    );
    expect(children).toHaveLength(2);
    await Promise.all([thread.close(), forked.close()]);
  });

  test("two at once see the same, runs that REST has started too", async () => {
    const thread = newThread("steps");
    const other = open("steps", thread.threadId);
    await thread.run.start({ input: { delay_ms: 100 } });
    const both = [watch(thread), watch(other)];
    await Promise.all(both.map(({ all }) => all()));
    const { runs } = client(deployment_id);
    await runs.wait(thread.threadId, "steps", { input: { delay_ms: 0 } });
    const [mine = [], theirs = []] = await Promise.all(both.map(({ ended }) => ended(2)));
    expect(theirs).toEqual(mine);
    expect(new Set(mine.map(({ event_id }) => event_id)).size).toBe(mine.length);
    await Promise.all([thread.close(), other.close()]);
  });

  test("a kill of the Worker leaves no gap and no double in what is seen", async () => {
    const thread = newThread("steps");
    const seen = watch(thread);
    await thread.run.start({ input: { delay_ms: 500 } });
    await seen.all();
    await seen.until(() => seen.events.some(({ method }) => method === "updates"));
    await killWorker();
    const events = await seen.ended(1);
    await aliveAgain();
    const replay = open("steps", thread.threadId);
    const replayed = watch(replay);
    await replayed.all();
    const again = await replayed.ended(1);
    expect(events).toEqual(again);
    expect(events.filter(({ event_id }) => event_id.startsWith("synth:")).length).toBe(3);
    const nodes = events.flatMap(({ method, params }) =>
      method === "updates" ? [params.data.node] : [],
    );
    expect(nodes).toEqual(["a", "b", "c"]);
    await Promise.all([thread.close(), replay.close()]);
  });
});

describe("the SDK's StreamController", () => {
  type State = Record<string, unknown>;
  const events = () => ({ client: client(deployment_id) as Client<State> });
  const socket = () => ({
    client: socketClient({ fetch: withKey }) as Client<State>,
    transport: "websocket" as const,
    webSocketFactory,
  });
  function controller(assistantId: string, threadId?: string, transport = events) {
    const stream = new StreamController<State, unknown>({
      assistantId,
      ...(threadId && { threadId }),
      ...transport(),
    });
    const now = () => stream.rootStore.getSnapshot();
    const texts = () => now().messages.map(({ text }) => text);
    const showing = (isIt: () => boolean) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (!isIt()) return;
          stop();
          resolve();
        };
        const stop = stream.rootStore.subscribe(look);
        look();
      });
    return { stream, now, texts, showing };
  }

  test("tokens show while it loads, a reload in the middle continues, and another run follows", async () => {
    const first = controller("says");
    const submitted = first.stream.submit(hi);
    await first.showing(() => /^a b/.test(first.texts().at(-1) ?? ""));
    expect(first.now().isLoading).toBe(true);
    const { threadId } = first.now();
    const reloaded = controller("says", threadId ?? "");
    await reloaded.stream.hydrate(threadId);
    await reloaded.showing(() => reloaded.texts().at(-1) === "a b c d e f g h i j");
    await submitted;
    await reloaded.showing(() => !reloaded.now().isLoading);
    for (const { texts, now } of [first, reloaded]) {
      expect(texts()).toEqual(["hi", "a b c d e f g h i j"]);
      expect(now()).toMatchObject({ isLoading: false, interrupts: [] });
    }
    await reloaded.stream.submit(hi);
    expect(reloaded.texts()).toHaveLength(4);
    await first.showing(() => first.texts().length === 4);
    await Promise.all([first.stream.dispose(), reloaded.stream.dispose()]);
  });

  test("over a socket an interrupt comes after the reply to the previous one", async () => {
    const { stream, now, showing } = controller("interrupts_within", undefined, socket);
    await stream.submit({});
    await showing(() => now().interrupts.length === 1);
    expect(now().interrupt?.value).toEqual({ question: "first?" });
    await stream.respond("one");
    await showing(() => JSON.stringify(now().interrupt?.value ?? "").includes("second?"));
    await stream.respond("two");
    await showing(() => !now().isLoading && JSON.stringify(now().values).includes("done"));
    expect(now()).toMatchObject({
      interrupts: [],
      values: { log: ["before", "one two", "done"] },
    });
    await stream.dispose();
  });

  test("a question shows, is answered, and shows no more; a stop ends a run", async () => {
    const { stream, now, showing } = controller("ask");
    await stream.submit({});
    await showing(() => now().interrupts.length === 1);
    expect(now().interrupt?.value).toEqual({ question: "go on?" });
    await stream.respond("yes");
    await showing(() => !now().isLoading && JSON.stringify(now().values).includes("done"));
    expect(now()).toMatchObject({ interrupts: [], values: { log: ["answer: yes", "done"] } });
    await stream.dispose();
    const long = controller("steps");
    const run = long.stream.submit({ delay_ms: 20_000 });
    await long.showing(() => long.now().isLoading && long.now().threadId !== null);
    const { runs } = client(deployment_id);
    const thread_id = long.now().threadId ?? "";
    const running = async () => (await runs.list(thread_id).catch(() => [])).map((r) => r.status);
    await becomes(async () => (await running()).includes("running"));
    await long.stream.stop();
    await run;
    await becomes(async () => (await running()).includes("interrupted"));
    expect(long.now().isLoading).toBe(false);
    await long.stream.dispose();
  });
});

function becomes(isIt: () => Promise<boolean>) {
  return until("The run's status", isIt, (is) => is);
}
