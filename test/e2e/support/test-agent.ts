import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { TEST_GRAPHS, TEST_STORE } from "../../support/test-graphs.ts";
import { deploy } from "./deployments.ts";

const FOLDER = "test/fixtures/agents";

/** The graphs of test/fixtures/agents as a repository, deployed: the same that the workerd tests run. */
export async function deployTestAgent(headers: Record<string, string> = {}): Promise<string> {
  const { id } = await deploy("test-agent", await testAgentFiles(), { headers });
  return id;
}

export async function testAgentFiles(): Promise<Record<string, string>> {
  const graphs = TEST_GRAPHS.map((name) => [name, `./src/graphs.ts:${name}`]);
  return {
    "langgraph.json": JSON.stringify({ graphs: Object.fromEntries(graphs), store: TEST_STORE }),
    "package.json": await readFile("examples/chat/package.json", "utf8"),
    "package-lock.json": await readFile("examples/chat/package-lock.json", "utf8"),
    ...(await agentSources()),
  };
}

/** Returns every file of test/fixtures/agents below src/. */
export async function agentSources(): Promise<Record<string, string>> {
  const names = await readdir(FOLDER);
  const read = async (name: string) => [`src/${name}`, await readFile(join(FOLDER, name), "utf8")];
  return Object.fromEntries(await Promise.all(names.map(read)));
}
