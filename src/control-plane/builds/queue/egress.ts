import { WorkerEntrypoint } from "cloudflare:workers";
import { type EgressPolicy, egressRefusal } from "../../../shared/egress/egress.ts";
import { AppError } from "../../../shared/errors.ts";

/**
 * The `globalOutbound` of a build's isolate. The code in the isolate checks the policy too, but reads hostile sources.
 * This entrypoint is outside of the isolate, so it checks each request again.
 */
export class BuildEgress extends WorkerEntrypoint<unknown, EgressPolicy> {
  override async fetch(request: Request): Promise<Response> {
    const policy = this.ctx.props;
    try {
      const refused = isLookup(policy, request)
        ? null
        : await egressRefusal(policy, new URL(request.url));
      if (refused !== null)
        return new Response(`Heddle refused this request: ${refused}.`, REFUSED);
    } catch (error) {
      const { status, message } = AppError.from(error);
      return new Response(message, { status });
    }
    return fetch(request, { redirect: "manual" });
  }
}

const REFUSED = { status: 403 };

/** Exempts lookups by the isolate: the DNS resolver of the installation may have a private address. */
function isLookup({ dns_url }: EgressPolicy, { url }: Request): boolean {
  if (dns_url === undefined) return false;
  const [resolver, target] = [new URL(dns_url), new URL(url)];
  return target.origin === resolver.origin && target.pathname === resolver.pathname;
}
