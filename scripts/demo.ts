// `npm run demo`: runs an end-to-end demo against real services, then exits. Exit code 0 only if every step
// passed.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { formatDuration, paint } from "../local/processes/terminal.ts";
import { type Stack, startStack } from "../local/stack.ts";
import { logOf } from "../local/worker.ts";
import {
  approveRefund,
  chatOnce,
  enqueueTwo,
  readCustomEvents,
  streamTokens,
  streamWithoutThread,
} from "./demo/agent.ts";
import { awaitDeployed, awaitGone, type ControlPlane, connect } from "./demo/control-plane.ts";
import { exportTraces, findTraces, readWithDuckDb } from "./demo/exports.ts";
import { pushBranch } from "./demo/repository.ts";
import { endLine, expect, type Note, step, stepCount } from "./demo/story.ts";
import { readOptions } from "./options.ts";

readOptions({});
const dir = join(process.env.HEDDLE_DIR ?? ".heddle", "demo");
const started = performance.now();
let stack: Stack | undefined;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, async () => {
    await stack?.stop();
    process.exit(130);
  });
}

console.log(
  `${paint("bold", "Heddle")}: an agent goes from a git repository to answers, and its traces to a bucket`,
);
try {
  await runSteps();
  const time = formatDuration(performance.now() - started);
  console.log(`\n${paint("green", `All ${stepCount()} steps were right`)}, in ${time}.`);
  console.log(
    paint(
      "dim",
      "`npm start` keeps a stack running, with a console; the README has commands to try.\n",
    ),
  );
} catch (error) {
  endLine();
  console.error(`\n${paint("red", "✗ The demo failed")}: ${describe(error)}`);
  console.error(paint("dim", `The Worker's log is in ${logOf(dir)}\n`));
  process.exitCode = 1;
} finally {
  await stack?.stop();
}

async function runSteps(): Promise<void> {
  const info = await step("A local stack starts", raiseStack);
  const control = connect(info);
  const agentOf = (id: string) =>
    new Client({ apiUrl: `${info.base_url}/agents/${id}`, apiKey: info.api_key });
  const url = (name: string) => `${info.git.url}/examples/${name}.git`;

  const chat = await step("POST /v2/deployments deploys examples/chat from git", (note) =>
    deploy(control, "chat", url("chat"), note),
  );
  const client = agentOf(chat.id);
  await step("Two runs are sent at once to one thread; the second waits", (note) =>
    enqueueTwo(client, note),
  );
  await step("An answer streams token by token", (note) => streamTokens(client, note));
  await step("A refund waits for a person, then continues", (note) => approveRefund(client, note));
  await step("A run needs no thread", (note) => streamWithoutThread(client, note));
  await step("A push and a PATCH put a new revision in its place", (note) =>
    replace(control, chat, `${info.git.push_url}/examples/chat.git`, client, note),
  );
  const echo = await step(
    "A plain async generator is an agent too: examples/echo",
    async (note) => {
      const deployed = await deploy(control, "echo", url("echo"), note);
      await talkToEcho(agentOf(deployed.id), note);
      return deployed;
    },
  );
  const project = await step("Each run left its trace: model, tools, nodes", (note) =>
    findTraces(info, "chat", note),
  );
  const { manifest, paths } = await step(
    "POST /api/v1/bulk-exports writes the traces to a bucket as Parquet",
    (note) => exportTraces(info, project, join(dir, "parquet"), note),
  );
  await step("DuckDB reads them", (note) => readWithDuckDb(paths, manifest, note));
  await step("DELETE ends both", async (note) => {
    for (const { id, name } of [chat, echo]) {
      await control.remove(id);
      await awaitGone(control, id);
      note(name, "204, then 404");
    }
  });
}

async function raiseStack(note: Note) {
  await rm(dir, { recursive: true, force: true });
  const onStep = (label: string, ms: number) => note.step(label, ms);
  stack = await startStack({ dir, quiet: true, onStep });
  note("API", stack.info.base_url);
  note("git host", stack.info.git.url);
  return stack.info;
}

async function deploy(control: ControlPlane, name: string, repo_url: string, note: Note) {
  const created = await control.create(name, repo_url);
  note("201", `deployment ${created.id}`);
  const read = await control.get(created.id);
  expect(
    read.name === name && read.latest_revision_id === created.latest_revision_id,
    `GET should answer what POST did, and answers ${JSON.stringify(read)}`,
  );
  await follow(control, created.id, created.latest_revision_id, note);
  return created;
}

async function follow(control: ControlPlane, id: string, revision_id: string, note: Note) {
  const { revision, seen } = await awaitDeployed(control, id, revision_id);
  note("states", seen.map(({ status, at_ms }) => `${status} ${formatDuration(at_ms)}`).join(" → "));
  const { repo_ref, repo_commit_sha } = revision.source_revision_config;
  expect(/^[0-9a-f]{40}$/.test(repo_commit_sha ?? ""), "The revision should record its commit.");
  note("commit", `${repo_commit_sha?.slice(0, 12)} of ${repo_ref}`);
  const { logs } = await control.readBuildLog(id, revision_id);
  expect(logs.length > 0, "A build should leave a log.");
  note("build log", logs.map(({ message }) => message).join("\n"));
}

async function replace(
  control: ControlPlane,
  { id, latest_revision_id }: { id: string; latest_revision_id: string },
  push_url: string,
  client: Client,
  note: Note,
) {
  const change = { file: "src/local-model.ts", from: "Done: ", to: "Here you are: " };
  const commit = await pushBranch(push_url, { branch: "friendly", ...change });
  note("git push", `${commit.slice(0, 12)} to the branch "friendly"`);
  const patched = await control.patch(id, { repo_ref: "friendly" });
  expect(patched.latest_revision_id !== latest_revision_id, "The PATCH should make a revision.");
  await follow(control, id, patched.latest_revision_id, note);
  const answer = await chatOnce(client, "chat", "What is 6 * 7?");
  note("answer", answer);
  expect(answer === "Here you are: 42", `The new revision should answer, and "${answer}" came.`);
}

async function talkToEcho(client: Client, note: Note) {
  const answer = await chatOnce(client, "echo", "to be or not");
  note("answer", answer);
  expect(answer === "You said: to be or not", `The echo should answer, and "${answer}" came.`);
  const events = await readCustomEvents(client, "to be");
  note("custom", JSON.stringify(events));
  expect(
    JSON.stringify(events) === JSON.stringify([{ heard: "to" }, { heard: "be" }]),
    "Each word should be a custom event.",
  );
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message} (${describe(error.cause)})`;
}
