import { WorkerEntrypoint } from "cloudflare:workers";
import { type Inner, withInner } from "./access/inner.ts";
import { served } from "./served.ts";

type ServerProps = {
  /** Of one deployment's server; what is called here goes nowhere else. */
  base_url: string;
  /** Null: it is as if it had come from outside. */
  inner: Inner | null;
  /** Credentials that the agent's code does not see, for the routes behind its app. */
  held?: [string, string][];
};

/** The agent server of one deployment, as the isolate of its agent reaches it. */
export class AgentServer extends WorkerEntrypoint<Env, ServerProps> {
  override async fetch(request: Request): Promise<Response> {
    const { base_url, inner, held = [] } = this.ctx.props;
    const { pathname, search } = new URL(request.url);
    const headers = new Headers(request.headers);
    for (const [name, value] of held) if (!headers.has(name)) headers.set(name, value);
    const url = base_url + pathname + search;
    const own = new Request(new Request(url, request), { headers });
    const env = inner ? withInner(this.env, inner) : this.env;
    return served.fetch(own, env, this.ctx);
  }
}
