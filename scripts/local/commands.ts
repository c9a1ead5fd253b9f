import type { StackInfo } from "./stack.ts";

/** Three commands that take a newcomer from nothing to an answer; each runs as it is pasted. */
export function commandsToTry({ base_url, api_key, git }: StackInfo): string[] {
  const key = `-H "X-Api-Key: ${api_key}"`;
  const json = '-H "Content-Type: application/json"';
  const deployment = JSON.stringify({
    name: "chat",
    source: "github",
    source_config: {
      repo_url: `${git.url}/examples/chat.git`,
      deployment_type: "dev",
      build_on_push: false,
    },
    source_revision_config: { repo_ref: "main", agent_config_path: "langgraph.json" },
    secrets: [],
  });
  const run = JSON.stringify({
    assistant_id: "chat",
    input: { messages: [{ role: "user", content: "What is 6 * 7?" }] },
    stream_mode: ["updates"],
  });
  const readId = "node -pe 'JSON.parse(require(\"fs\").readFileSync(0)).id'";
  return [
    `ID=$(curl -s ${base_url}/v2/deployments ${key} ${json} -d '${deployment}' | ${readId})`,
    `curl -s ${base_url}/v2/deployments/$ID/revisions ${key}`,
    `curl -N ${base_url}/agents/$ID/runs/stream ${key} ${json} -d '${run}'`,
  ];
}
