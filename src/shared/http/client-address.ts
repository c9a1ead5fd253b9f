import { toGroups } from "../egress/addresses.ts";

/**
 * Returns the network that a request comes from: an IPv4 address, or the /64 of an IPv6 address, because
 * one customer has all of it. Cloudflare sets the header and overwrites what a client sends. On one machine
 * the proxy sets it; without a proxy it is loopback (scripts/local/entries/index.ts).
 *
 * @returns `null` for an internal call, which comes from no network.
 */
export function clientOf(headers: Headers): string | null {
  const address = headers.get("CF-Connecting-IP")?.trim() ?? "";
  if (address === "") return null;
  const host = URL.parse(`https://[${address}]`)?.hostname;
  if (host === undefined) return address.slice(0, 45);
  const network = toGroups(host.slice(1, -1)).slice(0, 4);
  // IPv4 in its mapped form, of which all addresses share the first groups.
  if (network.every((group) => group === 0)) return host;
  return network.map((group) => group.toString(16)).join(":");
}
