import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "@langchain/langgraph-sdk";
import { assert, type Check, type Target } from "./target.ts";

const PAUSE_MS = 100;
/** Heddle sends a heartbeat each 5 seconds. */
const MAX_SILENCE_MS = 20_000;

export const STREAM_CHECKS: Check[] = [
  { name: "long stream", limit: "proxies buffer no events", run: checkStream },
  { name: "silent stream", limit: "proxies end silent responses after 100 s", run: checkSilence },
  { name: "silent wait", limit: "first byte of a response within 100 s", run: checkWait },
  { name: "resumed stream", limit: "events outlast their connection", run: checkResume },
  { name: "unattended run", limit: "waitUntil ends 30 s after a response", run: checkUnattended },
  { name: "WebSocket", limit: "upgrade, hibernation of an object", run: checkWebSocket },
];

type StepEvent = { id?: string | undefined; event: string; data: unknown };

/** Starts a run of the given steps on a new thread. */
export async function startSteps({ client }: Target, count: number, pause_ms = PAUSE_MS) {
  const { thread_id } = await client.threads.create();
  const input = { count, pause_ms };
  const { run_id } = await client.runs.create(thread_id, "steps", { input, streamMode: "updates" });
  return { thread_id, run_id };
}

export function stepsOf(events: StepEvent[]): number[] {
  const updates = events.filter(({ event }) => event === "updates");
  return updates.flatMap(({ data }) =>
    Object.values(Object(data)).map((value) => Object(value).step),
  );
}

function assertSteps(events: StepEvent[], from: number, to: number): void {
  const wanted = Array.from({ length: to - from + 1 }, (_, n) => from + n);
  const steps = stepsOf(events);
  assert(steps.join() === wanted.join(), `a stream had the steps ${steps}, not ${from} to ${to}`);
}

async function checkStream(target: Target): Promise<string> {
  const { long_seconds } = target.settings;
  const count = Math.ceil((long_seconds * 1000) / PAUSE_MS);
  const { thread_id, run_id } = await startSteps(target, count);
  const { client } = target;
  const events: StepEvent[] = [];
  let first_status = "";
  for await (const event of client.runs.joinStream(thread_id, run_id)) {
    events.push(event);
    if (event.event === "updates")
      first_status ||= (await client.runs.get(thread_id, run_id)).status;
  }
  assertSteps(events, 1, count);
  const isLive = ["pending", "running"].includes(first_status);
  assert(isLive, "the first event arrived after the run: a proxy buffers the stream");
  return `${count} events in ${long_seconds} s or more, in order, while the run was ${first_status}`;
}

/** Accepts compression, and measures the pauses of the response: a proxy that compresses may hold heartbeats back. */
async function checkSilence(target: Target): Promise<string> {
  const { long_seconds } = target.settings;
  const body = { assistant_id: "waits", input: { ms: long_seconds * 1000 }, stream_mode: "values" };
  const headers = { "Accept-Encoding": "gzip, br, zstd" };
  const path = `/agents/${target.agent.id}/runs/stream`;
  const response = await target.fetch("POST", path, body, headers);
  const encoding = response.headers.get("Content-Encoding") ?? "identity";
  assert(response.ok && response.body !== null, `a stream was answered ${response.status}`);
  let [text, last, longest] = ["", Date.now(), 0];
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    longest = Math.max(longest, Date.now() - last);
    last = Date.now();
    text += chunk;
  }
  assert(text.includes('"waited_ms"'), `the stream ended without values: ${text.slice(-300)}`);
  assert(longest < MAX_SILENCE_MS, `a stream was silent for ${longest} ms (${encoding})`);
  return `a run that emits nothing for ${long_seconds} s had pauses of at most ${longest} ms, encoded as ${encoding}`;
}

async function checkWait(target: Target): Promise<string> {
  const ms = target.settings.long_seconds * 1000;
  const { waited_ms } = await target.probe<{ waited_ms: number }>("waits", { ms });
  assert(waited_ms >= ms * 0.9, `a run of ${ms} ms took ${waited_ms} ms by its own clock`);
  return `a request waited ${Math.round(waited_ms / 1000)} s for the result of its run`;
}

async function checkResume(target: Target): Promise<string> {
  const { client } = target;
  const count = 20;
  const { thread_id, run_id } = await startSteps(target, count);
  const before: StepEvent[] = [];
  for await (const event of client.runs.joinStream(thread_id, run_id)) {
    before.push(event);
    if (stepsOf(before).length === 3) break;
  }
  const lastEventId = before.at(-1)?.id ?? "";
  const rest: StepEvent[] = [];
  const stream = client.runs.joinStream(thread_id, run_id, { lastEventId });
  for await (const event of stream) rest.push(event);
  assertSteps(before, 1, 3);
  assertSteps(rest, 4, count);
  const { status } = await client.runs.get(thread_id, run_id);
  assert(status === "success", `the run ended ${status} after its reader left`);
  return "a reader that left continues after Last-Event-ID, and the run continued";
}

/** Checks a run during which no request is open. */
async function checkUnattended(target: Target): Promise<string> {
  const { client, settings } = target;
  const { thread_id, run_id } = await startSteps(target, 10, settings.long_seconds * 100);
  await sleep(settings.long_seconds * 1000);
  await target.poll("end of a run without a reader", async () => {
    const { status } = await client.runs.get(thread_id, run_id);
    assert(!["error", "timeout"].includes(status), `a run without a reader ended ${status}`);
    return status === "success" ? status : null;
  });
  const { values } = await client.threads.getState<{ step: number }>(thread_id);
  assert(values.step === 10, `a run without a reader ended with ${JSON.stringify(values)}`);
  return `a run of ${settings.long_seconds} s ended while no request was open`;
}

/** Connects, is idle, and then receives the events of a run. */
async function checkWebSocket(target: Target): Promise<string> {
  const { long_seconds, url, key } = target.settings;
  const apiUrl = `${url}/agents/${target.agent.id}`;
  const protocol = `heddle.auth.${Buffer.from(key).toString("base64url")}`;
  const thread = new Client({ apiUrl, apiKey: null }).threads.stream(randomUUID(), {
    assistantId: "echo",
    transport: "websocket",
    webSocketFactory: (address: string) => new WebSocket(address, ["heddle", protocol]),
  });
  const received: string[] = [];
  thread.onEvent(({ params }) => void received.push(JSON.stringify(params)));
  await thread.subscribe({ channels: ["values"] });
  for (const text of ["before", "after"]) {
    await thread.run.start({ input: { text } });
    await target.poll(`result of the run ${text} on a WebSocket`, async () =>
      received.some((event) => event.includes(`"echo":"${text}"`)) ? text : null,
    );
    if (text === "before") await sleep(long_seconds * 1000);
  }
  await thread.close();
  return `a WebSocket got the results of two runs, with a pause of ${long_seconds} s`;
}
