export const PROVIDERS = "/v2/auth/providers";
export const TOKENS = "/v2/auth/tokens";

export function agentConnectionsPath(agent: string): string {
  return `/v2/auth/agents/${encodeURIComponent(agent)}/connections`;
}
