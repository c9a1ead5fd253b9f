import { expect, test } from "vitest";
import { toRoutePath } from "../../src/shared/paths.ts";

test.each([
  ["https://api.test/v2/deployments?limit=1", "", "/v2/deployments"],
  ["https://api.test/api-host/v2/deployments", "", "/v2/deployments"],
  ["https://api.test/api-host", "", "/"],
  ["https://api.test/api-hosted/x", "", "/api-hosted/x"],
  ["https://api.test/sessions?name=x", "", "/api/v1/sessions"],
  ["https://api.test/api/sessions/1", "", "/api/v1/sessions/1"],
  ["https://api.test/api/v1/runs/batch", "", "/api/v1/runs/batch"],
  ["https://api.test/v1/feedback", "", "/api/v1/feedback"],
  ["https://api.test/runsheet", "", "/runsheet"],
  ["https://api.test/v2/runs/query", "", "/api/v2/runs/query"],
  ["https://api.test/api/v2/runs/query", "", "/api/v2/runs/query"],
  ["https://api.test/api/v1/info", "", "/info"],
  ["https://api.test/agents/runs/runs", "", "/agents/runs/runs"],
  ["https://api.test/agents/a/revisions/b/threads/c", "", "/agents/a@b/threads/c"],
  ["https://api.test/agents/a/revisions/b", "", "/agents/a@b"],
  ["https://api.test/agents/a/threads/revisions/b", "", "/agents/a/threads/revisions/b"],
  ["https://chat.agents.test/revisions/b/runs", "agents.test", "/agents/chat@b/runs"],
  ["https://chat.agents.test/threads?x=1", "agents.test", "/agents/chat/threads"],
  ["https://CHAT.agents.test:8787/runs/stream", "agents.test:8787", "/agents/chat/runs/stream"],
  ["https://chat.agents.test/api-host/x", "agents.test", "/agents/chat/api-host/x"],
  ["https://chat.agents.test/threads", "", "/threads"],
  ["https://agents.test/threads", "agents.test", "/threads"],
  ["https://a.b.agents.test/threads", "agents.test", "/threads"],
  ["https://chatagents.test/threads", "agents.test", "/threads"],
])("%s with agents at %j is routed as %s", (url, AGENTS_DOMAIN, path) => {
  expect(toRoutePath(new Request(url), { env: { AGENTS_DOMAIN } })).toBe(path);
});
