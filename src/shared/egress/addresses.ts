// Decides by names and literal addresses which hosts are public. The URL parser has made `0x7f.1` a dotted quad.

export type EgressPolicy = {
  /** Allows `http:` too, and hosts that are not public. */
  allow_private: boolean;
  /** URL of a DNS-over-HTTPS resolver. Unless `allow_private`, names are resolved with it before a fetch. */
  dns_url?: string;
  /**
   * Ports on which this Heddle listens. With `allow_private`, they are refused for every host: a name may mean loopback.
   */
  own_ports?: number[];
};

type Block4 = readonly [base: string, bits: number];

const NOT_PUBLIC_4: readonly Block4[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/** Top-level domains that are reserved (RFC 2606, 6761, 6762, 7686, 8375, 9476) or common inside networks. */
const NOT_PUBLIC_DOMAINS = new Set([
  ...["alt", "arpa", "example", "invalid", "local", "localhost", "onion", "test"],
  ...["consul", "corp", "docker", "home", "internal", "intranet", "lan", "localdomain", "mail"],
  ...["private", "svc", "workgroup"],
]);
/** Every top-level domain is letters, or punycode for letters of another script. */
const TOP_LEVEL_DOMAIN = /^([a-z]{2,63}|xn--[a-z0-9-]{1,59})$/;

/** Returns the reason for which the policy refuses the URL, or `null`. */
export function refusal(url: URL, policy: EgressPolicy): string | null {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return `${url.protocol}// is not supported: use https://`;
  }
  if (policy.allow_private) return refusalOfOwn(url, policy);
  if (url.protocol === "http:") return "must begin with https://";
  return isPublicHost(url.hostname)
    ? null
    : `${url.hostname} is not a public address: private, loopback and link-local hosts are refused`;
}

function refusalOfOwn(url: URL, { own_ports = [] }: EgressPolicy): string | null {
  if (isRuntimePath(url)) return RUNTIME_PATH_REFUSED;
  return own_ports.includes(portOf(url)) ? `port ${portOf(url)} is Heddle's own` : null;
}

export const RUNTIME_PATH_REFUSED = "/cdn-cgi/ is reserved for Heddle's runtime";

/** Whether any segment of the path is `cdn-cgi`: the local runtime serves every bucket below it, without a key. */
export function isRuntimePath({ pathname }: URL): boolean {
  const decoded = pathname.replace(/%([0-9a-f]{2})/gi, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return decoded.toLowerCase().split(/[/\\]/).includes("cdn-cgi");
}

export function portOf({ port, protocol }: URL): number {
  if (port !== "") return Number(port);
  return protocol === "https:" ? 443 : 80;
}

/** @param hostname in the form that `URL` gives it: lower case, IPv4 in dotted quads, IPv6 in brackets */
export function isPublicHost(hostname: string): boolean {
  const name = hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
  if (name.startsWith("[")) return isPublic6(name.slice(1, -1));
  const quad = toNumber4(name);
  if (quad !== null) return isPublic4(quad);
  const labels = name.split(".");
  const last = labels.at(-1) ?? "";
  if (labels.length < 2 || labels.includes("")) return false;
  return TOP_LEVEL_DOMAIN.test(last) && !NOT_PUBLIC_DOMAINS.has(last);
}

/** Whether the text of a DNS record is an address, and a public one. */
export function isPublicAddress(text: string): boolean {
  const host = text.includes(":") ? URL.parse(`https://[${text}]`)?.hostname : text;
  return host !== undefined && isAddress(host) && isPublicHost(host);
}

/** Whether the host is an address, not a name that resolves to one. */
export function isAddress(hostname: string): boolean {
  return hostname.startsWith("[") || toNumber4(hostname.replace(/\.$/, "")) !== null;
}

function toNumber4(text: string): number | null {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  if (!match) return null;
  return match.slice(1).reduce((sum, part) => sum * 256 + Number(part), 0);
}

function isPublic4(address: number): boolean {
  return !NOT_PUBLIC_4.some(([base, bits]) => {
    const size = 2 ** (32 - bits);
    return Math.floor(address / size) === Math.floor((toNumber4(base) ?? 0) / size);
  });
}

/** Allows global unicast (2000::/3) without its special parts, and public IPv4 in its mapped form. */
function isPublic6(text: string): boolean {
  const groups = toGroups(text);
  const [a = 0, b = 0] = groups;
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return isPublic4((groups[6] ?? 0) * 65536 + (groups[7] ?? 0));
  if (a >>> 13 !== 1) return false;
  if (a === 0x2001 && (b < 0x200 || b === 0xdb8)) return false;
  return a !== 0x2002 && a !== 0x3fff;
}

/** @returns the eight groups of an IPv6 address in the form that `URL` gives it, without brackets. */
export function toGroups(text: string): number[] {
  const [head = "", tail] = text.split("::");
  const parse = (part: string) =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  if (tail === undefined) return parse(head);
  const [left, right] = [parse(head), parse(tail)];
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
}
