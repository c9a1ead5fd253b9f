import { beforeAll, describe, expect, inject, test } from "vitest";
import type { Received } from "../support/node/receiver.ts";
import { client, lines } from "./support/clients.ts";
import { collect } from "./support/collect.ts";
import { stack, until } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";

type Log = { log: string[] };
type Event = { id?: unknown; event: string; data: unknown };

const humanInput = (content: string) => ({ messages: [{ role: "user", content }] });
const slow = { input: { delay_ms: 1_500 } };
const endless = { input: { delay_ms: 600_000 } };
const quick = { input: { delay_ms: 0 } };

let deployment_id: string;
beforeAll(async () => {
  deployment_id = await deployTestAgent();
});

const namesOf = (events: Event[]) =>
  new Set(events.map(({ event }) => event.replace(/:[^|]*/g, "")));

test("newlines keep the connection of a waiting client alive, also of one that takes compressed answers", async () => {
  const response = await fetch(`${stack.base_url}/agents/${deployment_id}/runs/wait`, {
    method: "POST",
    headers: { "X-Api-Key": stack.api_key, "Content-Type": "application/json" },
    body: JSON.stringify({ assistant_id: "steps", input: { delay_ms: 1_500 } }),
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toBe("\n");
  await reader?.cancel();
});

describe.each(lines)("the SDK %s", (_line, sdk) => {
  test("streams the tasks and checkpoints of an agent without LangGraph", async () => {
    const { runs } = sdk(deployment_id);
    const streamMode = ["debug", "tasks", "checkpoints", "events", "tools"] as const;
    const stream = runs.stream(null, "counts_plainly", {
      input: { text: "four" },
      streamMode: [...streamMode],
    });
    const events = await collect(stream);
    expect(namesOf(events)).toEqual(
      new Set(["metadata", "debug", "tasks", "checkpoints", "events"]),
    );
    const tasks = events.filter(({ event }) => event === "tasks").map(({ data }) => data);
    expect(tasks).toMatchObject([
      { name: "counts_plainly", triggers: ["branch:to:counts_plainly"] },
      { name: "counts_plainly", result: { count: 4 } },
    ]);
  });

  test("streams every mode at once, and each under its name", async () => {
    const { runs } = sdk(deployment_id);
    const stream = runs.stream(null, "tooled", {
      input: humanInput("hi"),
      streamMode: [
        "values",
        "updates",
        "messages",
        "messages-tuple",
        "custom",
        "debug",
        "tasks",
        "checkpoints",
        "events",
        "tools",
      ],
    });
    expect(namesOf(await collect(stream))).toEqual(
      new Set([
        "metadata",
        "values",
        "updates",
        "messages",
        "messages/metadata",
        "messages/partial",
        "messages/complete",
        "debug",
        "tasks",
        "checkpoints",
        "events",
        "tools",
      ]),
    );
  });

  test("a resumable stream is replayed deeply equal in the middle of its run", async () => {
    const { threads, runs } = sdk(deployment_id);
    const { thread_id } = await threads.create();
    let run_id = "";
    const first = collect(
      runs.stream(thread_id, "steps", {
        input: { delay_ms: 300 },
        streamMode: ["updates", "values"],
        streamResumable: true,
        onRunCreated: (run) => {
          run_id = run.run_id;
        },
      }),
    );
    await until("the run's id", async () => run_id, Boolean);
    const again = await collect(runs.joinStream(thread_id, run_id, { lastEventId: "-1" }));
    expect(again).toEqual(await first);
  });

  test("a run that failed at once still emits its error to a later reader", async () => {
    const { threads, runs } = sdk(deployment_id);
    const { thread_id } = await threads.create();
    const { run_id } = await runs.create(thread_id, "fails", { input: { log: [] } });
    await until(
      "the run's end",
      () => runs.get(thread_id, run_id),
      ({ status }) => status === "error",
    );
    const events = await collect(runs.joinStream(thread_id, run_id));
    expect(events.at(-1)?.event).toBe("error");
  });

  test("events of subgraphs have their namespace", async () => {
    const { runs } = sdk(deployment_id);
    const stream = runs.stream(null, "team", {
      input: humanInput("hi"),
      streamMode: ["values", "messages-tuple"],
      streamSubgraphs: true,
    });
    expect(namesOf(await collect(stream))).toEqual(
      new Set(["metadata", "values", "values|writer", "messages|writer|model", "messages|quiet"]),
    );
  });

  test("a batch of background runs", async () => {
    const { runs } = sdk(deployment_id);
    const created = await runs.createBatch([
      { assistantId: "echo", input: humanInput("one") },
      { assistantId: "steps", ...quick },
    ]);
    expect(created.map(({ status }) => status)).toHaveLength(2);
    const [first, second] = await Promise.all(
      created.map(({ run_id }) => collect(runs.joinStream(null, run_id))),
    );
    expect(JSON.stringify(first)).toContain("echo: one");
    expect(second?.at(-1)?.data).toMatchObject({ log: ["a", "b", "c"] });
  });

  test("a command goes to a node, updates the state and answers an interrupt within a subgraph", async () => {
    const { threads, runs } = sdk(deployment_id);
    const { thread_id } = await threads.create();
    const went = await runs.wait(thread_id, "steps", {
      command: { goto: "c", update: { log: ["by hand"] } },
    });
    expect(went).toMatchObject({ log: ["by hand", "c"] });
    const interrupted = await threads.create();
    await runs.wait(interrupted.thread_id, "interrupts_within", { input: {} });
    await runs.wait(interrupted.thread_id, "interrupts_within", { command: { resume: "one" } });
    const done = await runs.wait(interrupted.thread_id, "interrupts_within", {
      command: { resume: "two" },
    });
    expect(done).toMatchObject({ log: ["before", "one two", "done"] });
  });

  test("goes back to an earlier checkpoint and on from there", async () => {
    const { threads, runs } = sdk(deployment_id);
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "steps", quick);
    const states = await threads.getHistory<Log>(thread_id, { limit: 10 });
    const atB = states.find(({ next }) => next[0] === "b");
    if (!atB) throw new Error("The history lacks the state before b");
    await threads.updateState(thread_id, {
      values: { log: ["instead"] },
      checkpoint: atB.checkpoint,
      asNode: "b",
    });
    const values = await runs.wait(thread_id, "steps", { input: null });
    expect(values).toMatchObject({ log: ["a", "instead", "c"] });
    const replayed = await runs.wait(thread_id, "steps", {
      input: null,
      checkpointId: atB.checkpoint.checkpoint_id ?? "",
    });
    expect(replayed).toMatchObject({ log: ["a", "b", "c"] });
  });

  test("rolls a run back as if it had not been", async () => {
    const { threads, runs } = sdk(deployment_id);
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "ask", { input: { log: [] } });
    const [before, history] = [
      await threads.getState(thread_id),
      await threads.getHistory(thread_id, { limit: 100 }),
    ];
    const { run_id } = await runs.create(thread_id, "steps", slow);
    await runs.cancel(thread_id, run_id, true, "rollback");
    await expect(runs.get(thread_id, run_id)).rejects.toThrow("HTTP 404");
    expect(await threads.getState(thread_id)).toEqual(before);
    expect(await threads.getHistory(thread_id, { limit: 100 })).toEqual(history);
    expect(await threads.get(thread_id)).toMatchObject({ status: "interrupted" });
  });

  test("creates the thread with the run on request, also for wait and stream", async () => {
    const { threads, runs } = sdk(deployment_id);
    const make = { ...quick, ifNotExists: "create" } as const;
    const ids = Array.from({ length: 3 }, () => crypto.randomUUID());
    const [first = "", second = "", third = ""] = ids;
    await expect(runs.wait(first, "steps", quick)).rejects.toThrow("HTTP 404");
    await runs.wait(first, "steps", make);
    await collect(runs.stream(second, "steps", make));
    await runs.join(third, (await runs.create(third, "steps", make)).run_id);
    for (const id of ids) expect(await threads.get(id)).toMatchObject({ status: "idle" });
  });

  test("a webhook receives the end within moments", async () => {
    const { threads, runs } = sdk(deployment_id);
    const { thread_id } = await threads.create();
    const name = crypto.randomUUID();
    const webhook = `${inject("receiver_url")}/ok/${name}`;
    const { run_id } = await runs.create(thread_id, "echo", { input: humanInput("hi"), webhook });
    const received = await until(
      "the webhook",
      async () => (await (await fetch(`${inject("receiver_url")}/${name}`)).json()) as Received[],
      ({ length }) => length > 0,
    );
    expect(JSON.parse(received[0]?.body ?? "")).toMatchObject({
      run_id,
      thread_id,
      status: "success",
    });
  });
});

describe("the SDK 1.15 alone", () => {
  test("cancels many runs at once, and one with a reason", async () => {
    const { threads, runs } = client(deployment_id);
    const { thread_id } = await threads.create();
    const [first, second] = [
      await runs.create(thread_id, "steps", endless),
      await runs.create(thread_id, "steps", endless),
    ];
    await runs.cancelMany({ threadId: thread_id, runIds: [second.run_id] });
    expect(await runs.get(thread_id, second.run_id)).toMatchObject({ status: "interrupted" });
    await runs.cancel(thread_id, first.run_id, true, "interrupt", { reason: "taken" });
    const { cancel_reason } = (await runs.get(thread_id, first.run_id)) as {
      cancel_reason?: string;
    };
    expect(cancel_reason).toMatch(/^taken:/);
    const other = await runs.create(thread_id, "steps", endless);
    const threadless = await runs.create(null, "steps", endless);
    const end = runs.join(threadless.thread_id, threadless.run_id);
    await runs.cancelMany({ status: "all" });
    expect(await end).toBeNull();
    expect(await runs.get(thread_id, other.run_id)).toMatchObject({ status: "interrupted" });
  });

  test("streams the events of some graphs only", async () => {
    const { runs } = client(deployment_id);
    const stream = runs.stream(null, "team", {
      input: humanInput("hi"),
      streamMode: ["values", "messages-tuple"],
      streamSubgraphs: true,
      streamNamespaces: ["writer"],
    });
    expect(namesOf(await collect(stream))).toEqual(
      new Set(["metadata", "values|writer", "messages|writer|model"]),
    );
  });
});
