import { exports } from "cloudflare:workers";
import type { EgressPolicy } from "../../../shared/egress/egress.ts";

type Entrypoints = { BuildEgress(options: { props: EgressPolicy }): Fetcher };

/** Returns the `globalOutbound` of a build's isolate, which refuses the requests that the policy forbids. */
export function buildEgress({ allow_private, dns_url, own_ports }: EgressPolicy): Fetcher {
  // Picks the fields of the policy, because callers pass whole orders.
  const props = {
    allow_private,
    ...(dns_url !== undefined && { dns_url }),
    ...(own_ports !== undefined && { own_ports }),
  };
  return (exports as unknown as Entrypoints).BuildEgress({ props });
}
