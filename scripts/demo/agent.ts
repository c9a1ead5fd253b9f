// The calls of the demo to the agent server, all by the official SDK.
import type { Client, Message } from "@langchain/langgraph-sdk";
import { formatDuration } from "../../local/processes/terminal.ts";
import { expect, type Note } from "./story.ts";

type Review = { action_requests: { name: string; args: unknown; description: string }[] };
type Values = { messages: Message[] };

export async function enqueueTwo(client: Client, note: Note): Promise<void> {
  const { thread_id } = await client.threads.create();
  const send = (content: string) =>
    client.runs.create(thread_id, "chat", {
      input: { messages: [{ role: "user", content }] },
      multitaskStrategy: "enqueue",
    });
  const questions = ["What is 6 * 7?", "And (2 + 3) * 4?"];
  const runs = await Promise.all(questions.map(send));
  for (const [index, { status }] of runs.entries()) {
    note(`run ${index + 1}`, `${status.padEnd(8)} ${questions[index]}`);
  }
  await Promise.all(runs.map(({ run_id }) => client.runs.join(thread_id, run_id)));
  const { values } = await client.threads.getState<Values>(thread_id);
  const lines = values.messages.map(({ type, content }) => `${type}: ${String(content)}`);
  note("state", lines.filter((line) => line !== "ai: ").join("\n"));
  const conversations = [
    ["human: What is 6 * 7?", "ai: ", "tool: 42", "ai: Done: 42"],
    ["human: And (2 + 3) * 4?", "ai: ", "tool: 20", "ai: Done: 20"],
  ];
  // The second of two concurrent requests is the one that waits.
  if (runs[0]?.status === "pending" && runs[1]?.status !== "pending") conversations.reverse();
  expect(
    JSON.stringify(lines) === JSON.stringify(conversations.flat()),
    `The messages of both runs should be in order, and are ${JSON.stringify(lines)}`,
  );
}

export async function streamTokens(client: Client, note: Note): Promise<void> {
  const { thread_id } = await client.threads.create();
  const started = performance.now();
  const tokens: string[] = [];
  let first_ms = 0;
  for await (const token of readTokens(client, thread_id, "Good morning!")) {
    if (tokens.length === 0) first_ms = performance.now() - started;
    tokens.push(token);
    note.token(token);
  }
  note("tokens", `${tokens.length}, the first after ${formatDuration(first_ms)}`);
  expect(tokens.length > 5, `The answer should come in many tokens and came in ${tokens.length}.`);
  expect(
    tokens.join("").startsWith('You said "Good morning!", your message number 1.'),
    `The tokens should join to the answer, and join to: ${tokens.join("")}`,
  );
}

async function* readTokens(client: Client, thread_id: string, content: string) {
  const stream = client.runs.stream(thread_id, "chat", {
    input: { messages: [{ role: "user", content }] },
    streamMode: "messages-tuple",
  });
  for await (const { event, data } of stream) {
    if (event !== "messages") continue;
    const [{ content: token }] = data;
    if (typeof token === "string" && token !== "") yield token;
  }
}

export async function approveRefund(client: Client, note: Note): Promise<void> {
  const { thread_id } = await client.threads.create();
  await client.runs.wait(thread_id, "chat", {
    input: { messages: [{ role: "user", content: "Please refund order 1042 with 19.90" }] },
  });
  const { status, interrupts } = await client.threads.get(thread_id);
  const review = Object.values(interrupts)[0]?.[0]?.value as Review | undefined;
  const [call] = review?.action_requests ?? [];
  note("thread", status);
  note("question", `${call?.description} ${call?.name} ${JSON.stringify(call?.args)}`);
  expect(
    status === "interrupted" && call?.name === "refund_order",
    `The run should wait for an approval, and the thread is ${status}.`,
  );
  await client.runs.wait(thread_id, "chat", {
    command: { resume: { decisions: [{ type: "approve" }] } },
  });
  const { values, next } = await client.threads.getState<Values>(thread_id);
  const last = String(values.messages.at(-1)?.content);
  note("approved", last);
  expect(
    last === "Done: Refunded 19.90 for order 1042." && next.length === 0,
    `The approved refund should be done, and the last message is: ${last}`,
  );
}

export async function streamWithoutThread(client: Client, note: Note): Promise<void> {
  const events: string[] = [];
  let answer = "";
  const stream = client.runs.stream(null, "chat", {
    input: { messages: [{ role: "user", content: "What is 10 / 4?" }] },
    streamMode: ["updates", "values"],
  });
  for await (const { event, data } of stream) {
    events.push(event);
    if (event === "values") answer = String((data as Values).messages?.at(-1)?.content);
  }
  note("events", events.join(" "));
  note("answer", answer);
  expect(answer === "Done: 2.5", `The last value should answer "Done: 2.5", not "${answer}".`);
  expect(events[0] === "metadata", `A stream starts with metadata, not with ${events[0]}.`);
  expect(events.includes("updates"), "The requested updates should be in the stream.");
}

export async function chatOnce(
  client: Client,
  assistant: string,
  content: string,
): Promise<string> {
  const input = { messages: [{ role: "user", content }] };
  const values = (await client.runs.wait(null, assistant, { input })) as Values;
  return String(values.messages.at(-1)?.content);
}

export async function readCustomEvents(client: Client, content: string): Promise<unknown[]> {
  const events: unknown[] = [];
  const stream = client.runs.stream(null, "echo", {
    input: { messages: [{ role: "user", content }] },
    streamMode: "custom",
  });
  for await (const { event, data } of stream) if (event === "custom") events.push(data);
  return events;
}
