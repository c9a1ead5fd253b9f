import { type ApiPath, apiPath } from "../../api/path.ts";
export const PROVIDERS = apiPath`/v2/auth/providers`;
export const TOKENS = apiPath`/v2/auth/tokens`;

export function agentConnectionsPath(agent: string): ApiPath {
  return apiPath`/v2/auth/agents/${agent}/connections`;
}
