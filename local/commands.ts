import type { StackInfo } from "./stack.ts";

/** Returns three commands that lead to a first answer, in this order: the first sets variables of the others. */
export function commandsToTry({ base_url, api_key, git }: StackInfo) {
  const json = '-H "Content-Type: application/json"';
  const readId = "node -pe 'JSON.parse(require(\"fs\").readFileSync(0)).id'";
  return {
    deploy: `KEY="X-Api-Key: ${api_key}"
ID=$(curl -s ${base_url}/v2/deployments -H "$KEY" ${json} -d '{
  "name": "chat", "source": "github", "secrets": [],
  "source_config": {"repo_url": "${git.url}/examples/chat.git", "deployment_type": "dev", "build_on_push": false},
  "source_revision_config": {"repo_ref": "main", "agent_config_path": "langgraph.json"}
}' | ${readId})`,
    watch: `curl -s ${base_url}/v2/deployments/$ID/revisions -H "$KEY"`,
    stream: `curl -N ${base_url}/agents/$ID/runs/stream -H "$KEY" ${json} -d '{
  "assistant_id": "chat", "stream_mode": ["updates"],
  "input": {"messages": [{"role": "user", "content": "What is 6 * 7?"}]}
}'`,
  };
}
