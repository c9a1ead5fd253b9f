import { readFile } from "node:fs/promises";
import { TEST_GRAPHS, TEST_STORE } from "../../support/test-graphs.ts";
import { deploy } from "./deployments.ts";

/** The graphs of test/fixtures/agents as a repository, deployed: the same that the workerd tests run. */
export async function deployTestAgent(headers: Record<string, string> = {}): Promise<string> {
  const graphs = TEST_GRAPHS.map((name) => [name, `./src/graphs.ts:${name}`]);
  const { id } = await deploy(
    "test-agent",
    {
      "langgraph.json": JSON.stringify({ graphs: Object.fromEntries(graphs), store: TEST_STORE }),
      "package.json": await readFile("examples/chat/package.json", "utf8"),
      "package-lock.json": await readFile("examples/chat/package-lock.json", "utf8"),
      "src/embed.ts": await readFile("test/fixtures/agents/embed.ts", "utf8"),
      "src/keeps.ts": await readFile("test/fixtures/agents/keeps.ts", "utf8"),
      "src/graphs.ts": await readFile("test/fixtures/agents/graphs.ts", "utf8"),
    },
    { headers },
  );
  return id;
}
