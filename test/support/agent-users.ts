import { testDeployment } from "./agent-deployment.ts";
import { TEST_AUTH, TEST_STORE } from "./test-graphs.ts";
import { api, type TestWorkspace, workspace } from "./workspace.ts";

type Sent = { method?: string; json?: unknown; headers?: Record<string, string> };
export type Answer = { status: number; text: string; json: unknown; headers: Headers };
export type UserCall = (path: string, sent?: Sent) => Promise<Answer>;

/** A deployment whose langgraph.json names test/fixtures/agents/auth.ts, and its users by their tokens. */
export async function agentWithUsers(config: Record<string, unknown> = {}) {
  const owner: TestWorkspace = await workspace();
  const { deployment_id, revision_id } = await testDeployment(owner.workspace_id, {
    store: TEST_STORE,
    auth: TEST_AUTH,
    ...config,
  });
  const base = `/agents/${deployment_id}`;
  const as = (token: string | null): UserCall => {
    const credentials = token === null ? {} : { Authorization: `Bearer ${token}` };
    return (path, { headers = {}, ...sent } = {}) =>
      answerOf(`${base}${path}`, { ...sent, headers: { ...credentials, ...headers } });
  };
  return { ...owner, deployment_id, revision_id, base, as };
}

export async function answerOf(path: string, sent: Parameters<typeof api>[1]): Promise<Answer> {
  const response = await api(path, sent);
  const text = await response.text();
  const { status, headers } = response;
  return { status, text, json: parse(text), headers };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
