import { WorkerEntrypoint } from "cloudflare:workers";
import { authenticateRequest, authorize } from "./auth.ts";
import type { AuthCall, AuthEntrypoint, WireRequest } from "./auth-contract.ts";
import type { AgentProps, Answer } from "./contract.ts";
import { embed } from "./embedding.ts";
import { answer } from "./failure.ts";
import type { EmbedCall, Embedded } from "./store-contract.ts";

/** What langgraph.json names beside the graphs. */
export class AgentCode extends WorkerEntrypoint<unknown, AgentProps> implements AuthEntrypoint {
  async embed(call: EmbedCall): Promise<Answer<Embedded>> {
    return answer(() => embed(call));
  }

  async authenticateRequest(request: WireRequest) {
    return authenticateRequest(request);
  }

  async matchesPattern(pattern: string, text: string) {
    return new RegExp(`^(?:${pattern})$`).test(text);
  }

  async authorize(call: AuthCall) {
    return authorize(call);
  }
}
