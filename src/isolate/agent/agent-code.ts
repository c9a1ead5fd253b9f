import { WorkerEntrypoint } from "cloudflare:workers";
import type { AuthCall, AuthEntrypoint, WireRequest } from "../auth-contract.ts";
import type { Answer } from "../contract.ts";
import { type AgentProps, TCP_BINDING } from "../environment-contract.ts";
import { withServer } from "../globals/server.ts";
import type { EmbedCall, EmbeddingResult } from "../store-contract.ts";
import { asCall, Call } from "../tcp/calls.ts";
import { answer } from "./answer.ts";
import { authenticateRequest, authorize } from "./auth.ts";
import { embed } from "./embedding.ts";
import { serveApp } from "./http-app.ts";

/** Code that langgraph.json names beside the graphs. */
export class AgentCode extends WorkerEntrypoint<unknown, AgentProps> implements AuthEntrypoint {
  override async fetch(request: Request): Promise<Response> {
    const { server, builtin, user = null } = this.ctx.props;
    if (!builtin) return new Response("404 Not Found", { status: 404 });
    const { [TCP_BINDING]: _, ...env } = Object(this.env);
    const work = () => serveApp(request, { builtin, user }, env, this.ctx);
    const call = await Call.begin();
    try {
      const response = await call.run(() => withServer(server, work));
      return call.endWith(response);
    } catch (error) {
      call.end();
      throw error;
    }
  }

  async embed(call: EmbedCall): Promise<Answer<EmbeddingResult>> {
    return answer(this.ctx, () => embed(call));
  }

  async authenticateRequest(request: WireRequest) {
    return asCall(() => authenticateRequest(request));
  }

  async matchesPattern(pattern: string, text: string) {
    return new RegExp(`^(?:${pattern})$`).test(text);
  }

  async authorize(call: AuthCall) {
    return asCall(() => authorize(call));
  }
}
