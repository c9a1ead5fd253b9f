import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Access, poll } from "./access.ts";
import type { Words } from "./words.ts";

export type SeededAgent = {
  deployment: string;
  /** A deployment without a revision that serves. */
  broken: string;
  /** A thread that waits for a person. */
  waiting: string;
  /** A thread whose last run failed. */
  failed: string;
  assistant: string;
  cron: string;
};

type Created = { id: string; latest_revision_id: string };
type Revision = { status: string; status_message: string | null };
type Step = { from: string; to: string; message: string };

const run = promisify(execFile);
const ANSWER = "return { messages: [await chooseModel()";

/**
 * A chat with two revisions, threads of each status, and all that belongs to an agent.
 * @param words plain or hostile texts: the pages must show either as they are
 */
export async function seedAgent(access: Access, words: Words): Promise<SeededAgent> {
  const branch = `console-${crypto.randomUUID().slice(0, 8)}`;
  await pushCommits(access, branch, [
    {
      from: ANSWER,
      to: `const content = String(messages.at(-1)?.content);
  if (content.startsWith("Fail")) throw new Error(content);
  console.warn(content);
  ${ANSWER}`,
      message: words.long("Log each question and refuse some"),
    },
  ]);
  const [chat, broken] = await Promise.all([
    deploy(access, words, "support-agent", branch),
    // The repository has no such branch, so that its build fails.
    deploy(access, words, "research-agent", "release"),
  ]);
  await awaitDeployed(access, chat);
  const display_name = words.text("Support agent");
  await access.call("PATCH", `/v2/deployments/${chat.id}`, { display_name });
  await redeploy(access, chat);
  const [threads, belongings] = await Promise.all([
    seedThreads(access, chat.id, words),
    seedBelongings(access, chat.id, words),
  ]);
  return { deployment: chat.id, broken: broken.id, ...threads, ...belongings };
}

async function pushCommits({ git }: Access, branch: string, steps: Step[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "heddle-console-"));
  const author = ["-c", "user.name=Ada", "-c", "user.email=ada@heddle.invalid"];
  const call = (...args: string[]) => run("git", ["-C", folder, ...author, ...args]);
  try {
    await call("clone", "--quiet", `${git.push_url}/examples/chat.git`, ".");
    const path = join(folder, "src/agent.ts");
    for (const { from, to, message } of steps) {
      await writeFile(
        path,
        (await readFile(path, "utf8")).replace(from, () => to),
      );
      await writeFile(join(folder, ".git/message"), message);
      await call("commit", "--quiet", "--all", "--file", ".git/message");
    }
    await call("push", "--quiet", "origin", `HEAD:refs/heads/${branch}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function deploy(
  access: Access,
  words: Words,
  name: string,
  repo_ref: string,
): Promise<Created> {
  return access.call("POST", "/v2/deployments", {
    name: `${name}-${crypto.randomUUID().slice(0, 4)}`,
    source: "github",
    source_config: { repo_url: `${access.git.url}/examples/chat.git`, deployment_type: "dev" },
    source_revision_config: { repo_ref, langgraph_config_path: "langgraph.json" },
    secrets: [{ name: words.variable("ORDERS_TOKEN"), value: "orders" }],
  });
}

async function awaitDeployed(access: Access, { id, latest_revision_id }: Created): Promise<void> {
  await poll(
    () => access.call<Revision>("GET", `/v2/deployments/${id}/revisions/${latest_revision_id}`),
    ({ status, status_message }) => {
      if (/FAILED/.test(status)) throw new Error(`The build failed: ${status_message}`);
      return status === "DEPLOYED";
    },
  );
}

/** A second revision, so that a page has one to roll back to. */
async function redeploy(access: Access, { id }: Created): Promise<void> {
  await access.call("POST", `/v2/deployments/${id}/revisions`, {});
  await awaitDeployed(access, await access.call<Created>("GET", `/v2/deployments/${id}`));
}

async function seedThreads(access: Access, id: string, words: Words) {
  const { threads, runs } = access.agent(id);
  const talk = async (customer: string, ...contents: string[]): Promise<string> => {
    const metadata = { customer: words.text(customer), note: words.long("came by mail") };
    const { thread_id } = await threads.create({ metadata });
    for (const content of contents) {
      const input = { messages: [{ role: "user", content }] };
      await runs.wait(thread_id, "chat", { input }).catch(() => {});
    }
    return thread_id;
  };
  const [waiting] = await Promise.all([
    talk("Ada", words.long("What is 6 * 7?"), "Please refund order 1042 with 19.90"),
    talk("Alan", words.text("Where is my parcel?"), "What is 120 / 8?"),
    talk("Edsger", words.text("Good morning!")),
    talk("Barbara", "Please refund order 2210 with 5.00"),
  ]);
  // Last, so that the end of the log shows the failure.
  const failed = await talk("Grace", words.long("Fail: the parcel service is unknown"));
  return { waiting, failed };
}

async function seedBelongings(access: Access, id: string, words: Words) {
  const { assistants, crons, store } = access.agent(id);
  const created = await assistants.create({
    graphId: "chat",
    name: words.text("Polite support"),
    description: words.long("Answers in full sentences").slice(0, 10_000),
    metadata: { team: words.text("support") },
  });
  const { assistant_id } = created;
  await assistants.update(assistant_id, { config: { tags: [words.text("polite")] } });
  const cron = await crons.create("chat", {
    schedule: "0 9 * * 1-5",
    input: { messages: [{ role: "user", content: words.long("Sum up the open orders") }] },
    metadata: { team: words.text("support") },
  });
  await crons.create("chat", { schedule: "*/30 * * * *", input: { messages: [] } });
  await access.call("POST", `/agents/${id}/runs/crons/${cron.cron_id}/fire`);
  for (const name of ["ada", "grace", "alan"]) {
    const value = { name, note: words.long("Prefers mail"), [words.text("language")]: "en" };
    await store.putItem(
      ["customers", words.text("europe").replaceAll(".", "")],
      words.text(name),
      value,
    );
  }
  const webhook = new URL(`${access.git.url}/hooks`);
  webhook.searchParams.set("order", words.text("1042"));
  const input = { messages: [{ role: "user", content: "Good evening!" }] };
  await access.agent(id).runs.wait(null, "chat", { input, webhook: webhook.href });
  return { assistant: assistant_id, cron: cron.cron_id };
}
