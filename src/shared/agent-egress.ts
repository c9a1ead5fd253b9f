import { WorkerEntrypoint } from "cloudflare:workers";
import { egressPolicy, egressRefusal } from "./egress.ts";

/** The only way out for an agent's isolate: the same host rules, bodies and redirects untouched. */
export class Egress extends WorkerEntrypoint<Env, { deployment_id: string }> {
  override async fetch(request: Request): Promise<Response> {
    const refused = await egressRefusal(egressPolicy(this.env), new URL(request.url));
    if (refused !== null)
      return new Response(`Heddle refused this request: ${refused}.`, { status: 403 });
    return fetch(request, { redirect: "manual" });
  }
}
