import { beforeAll, expect, test } from "vitest";
import { follow, inFolder, installCli, langgraphjs } from "./support/cli.ts";
import { client } from "./support/clients.ts";
import { uniqueName } from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { stack, until } from "./support/stack.ts";

beforeAll(installCli);

const AGENT = `
export async function agent(input) {
  console.log("asked", input.question);
  if (input.question === "why") console.error("no idea");
  return { answer: process.env.TONE + " " + input.question };
}`;

const FILES = {
  "langgraph.json": JSON.stringify({ graphs: { agent: "./src/agent.js:agent" }, env: ".env" }),
  "package.json": JSON.stringify({ name: "agent", version: "1.0.0", type: "module" }),
  "src/agent.js": AGENT,
  ".env": "TONE=kind\nLANGSMITH_TRACING_V2=true\n",
  ".gitignore": ".env\nlarge.bin\n",
  "large.bin": "x".repeat(1000),
};

type Event = {
  event: string;
  status?: string;
  message?: string;
  url?: string;
  deployment_id?: string;
};

const eventsOf = (stdout: string) =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Event);
const resultOf = (stdout: string) => eventsOf(stdout).find(({ event }) => event === "result");

async function deploy(folder: string, name: string, ...options: string[]) {
  const args = ["-c", "langgraph.json", "--name", name, "--remote", "--no-input", ...options];
  return langgraphjs(folder, ...args);
}

async function runAgent(deployment_id: string, question: string) {
  const values = await client(deployment_id).runs.wait(null, "agent", { input: { question } });
  return (values as { answer: string }).answer;
}

test("deploy uploads a folder, builds it and prints where it serves; again makes a revision", async () => {
  const name = uniqueName("cli");
  await inFolder(FILES, async (folder) => {
    const first = await deploy(folder, name, "--json");
    expect([first.code, first.stderr]).toEqual([0, ""]);
    const result = resultOf(first.stdout);
    const id = result?.deployment_id ?? "";
    expect(result).toMatchObject({ status: "succeeded", url: `${stack.base_url}/agents/${id}` });
    expect(first.stdout).toContain("Skipping reserved env var: LANGSMITH_TRACING_V2");
    const { body } = await request<{ resources: object[] }>(
      "GET",
      `/v2/deployments/${id}/revisions`,
    );
    expect(body.resources).toMatchObject([{ trigger: "cli" }]);
    expect(await runAgent(id, "how")).toBe("kind how");

    const again = await deploy(folder, name, "--verbose");
    expect(again.code).toBe(0);
    expect(again.stdout).toContain(`Found existing deployment (ID: ${id})`);
    expect(again.stdout).toContain("Deployment successful!");

    const revisions = await langgraphjs(folder, "revisions", "list", id, "--limit", "5");
    expect(revisions.code).toBe(0);
    const statuses = revisions.stdout.match(/\b(DEPLOYED|REPLACED)\b/g);
    expect(statuses).toEqual(["DEPLOYED", "REPLACED"]);

    const list = await langgraphjs(folder, "list", "--name-contains", name);
    expect(list.stdout).toMatch(new RegExp(`${id} +${name} +${stack.base_url}/agents/${id}`));

    const deleted = await langgraphjs(folder, "delete", id, "--force");
    expect([deleted.code, deleted.stdout]).toEqual([0, `Deleted deployment ${id}.\n`]);
    const gone = await langgraphjs(folder, "list", "--name-contains", name);
    expect(gone.stdout).toBe("No deployments found.\n");
    const missing = await until(
      "The end of the deployment",
      () => langgraphjs(folder, "revisions", "list", id),
      ({ code }) => code === 1,
    );
    expect(missing.stderr).toContain(`Deployment ID ${id} not found.`);
  });
});

test("a build that fails exits with 1 and shows why", async () => {
  const files = {
    ...FILES,
    "langgraph.json": JSON.stringify({ graphs: { agent: "./src/missing.js:agent" } }),
  };
  await inFolder(files, async (folder) => {
    const name = uniqueName("broken");
    const failed = await deploy(folder, name, "--json");
    expect(failed.code).toBe(1);
    expect(resultOf(failed.stdout)).toMatchObject({ status: "failed" });
    const log = eventsOf(failed.stdout).filter(({ event }) => event === "log");
    expect(log.map(({ message }) => message).join("\n")).toContain(
      'graph "agent" is in src/missing.js, which does not exist. There is src/agent.js.',
    );
    const id = resultOf(failed.stdout)?.deployment_id ?? "";
    const build = ["logs", "--deployment-id", id, "--type", "build"];
    const errors = await langgraphjs(folder, ...build, "--level", "error", "-q", "MISSING.js");
    expect(errors.code).toBe(0);
    expect(errors.stdout.split("\n").filter((line) => line.includes("[ERROR]"))).toHaveLength(1);
    const none = await langgraphjs(folder, ...build, "-q", "no such text");
    expect(none.stdout).toContain("No log entries found.");
  });
});

test("what an agent prints is followed as it runs, each line once", async () => {
  await inFolder(FILES, async (folder) => {
    const deployed = await deploy(folder, uniqueName("talking"), "--json");
    const id = resultOf(deployed.stdout)?.deployment_id ?? "";
    await runAgent(id, "one");
    const logs = ["logs", "--deployment-id", id];
    const requestLines = (lines: string[]) => lines.filter((line) => line.includes("asked"));
    await until(
      "The first line",
      () => langgraphjs(folder, ...logs),
      ({ stdout }) => stdout.includes("asked one"),
    );
    const following = follow(folder, ...logs, "--follow");
    await until(
      "The line before",
      async () => requestLines(following.lines),
      (lines) => lines.length === 1,
    );
    for (const question of ["two", "three", "why"]) await runAgent(id, question);
    await until(
      "The lines after",
      async () => requestLines(following.lines),
      (lines) => lines.length >= 4,
    );
    await following.stop();
    expect(requestLines(following.lines).map((line) => line.replace(/^.*asked /, ""))).toEqual([
      ...["one", "two", "three", "why"],
    ]);
    const errors = await langgraphjs(folder, ...logs, "--level", "error");
    expect(errors.stdout).toMatch(/^\[\S+\] \[ERROR\] no idea\n$/);
  });
});

test("a wrong key, and an image, are refused with what to do", async () => {
  await inFolder(FILES, async (folder) => {
    const wrong = await langgraphjs(folder, "list", "--api-key", "lsv2_sk_wrong");
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toContain("Invalid API key.");
  });
  const image = await request("POST", "/v2/deployments", {
    name: uniqueName("image"),
    source: "internal_docker",
    source_config: { deployment_type: "dev" },
    source_revision_config: {},
    secrets: [],
  });
  expect(image.status).toBe(422);
  expect(JSON.stringify(image.body)).toContain("langgraphjs deploy --remote");
});
