import { z } from "zod";
import { AppError } from "../errors.ts";
import { TtlCache } from "../work/ttl-cache.ts";
import { isPublicAddress } from "./addresses.ts";

const DnsRecord = z.object({ type: z.number(), data: z.string() });
const DnsAnswer = z.object({ Status: z.number(), Answer: z.array(DnsRecord).optional() });
type DnsAnswer = z.infer<typeof DnsAnswer>;

const TYPES = { A: 1, AAAA: 28 } as const;
const NO_ERROR = 0;
const TIMEOUT_MS = 5000;
/** Caches results, because a build fetches from the same few hosts hundreds of times. */
const TTL_MS = 30_000;
const MAX_NAMES = 1000;

const refusals = new TtlCache<string | null>(TTL_MS, MAX_NAMES);

/**
 * Resolves a name with a DNS-over-HTTPS resolver that answers in JSON. Public resolvers often do not know the names inside
 * a network, so a name without an answer must not reach the resolver of the machine.
 * @returns the reason for which the name is refused: it has no address, or one that is not public. `null` allows the name
 * @throws AppError `unavailable` when the resolver does not answer, or does not know the name
 */
export function refusalOfName(dns_url: string, hostname: string): Promise<string | null> {
  return refusals.get(`${dns_url} ${hostname}`, async () => {
    const answers = await Promise.all([
      query(dns_url, hostname, "A"),
      query(dns_url, hostname, "AAAA"),
    ]);
    return refusalOf(hostname, answers.flatMap(addressesOf));
  });
}

function refusalOf(hostname: string, addresses: string[]): string | null {
  if (addresses.length === 0) return `${hostname} has no public address`;
  const address = addresses.find((each) => !isPublicAddress(each));
  if (address === undefined) return null;
  return `${hostname} resolves to ${address}, which is not a public address`;
}

/** Skips aliases: a resolver follows them and puts the addresses they lead to into the same answer. */
export function addressesOf({ Answer = [] }: Pick<DnsAnswer, "Answer">): string[] {
  const isAddress = (type: number) => type === TYPES.A || type === TYPES.AAAA;
  return Answer.filter(({ type }) => isAddress(type)).map(({ data }) => data);
}

async function query(dns_url: string, name: string, type: keyof typeof TYPES): Promise<DnsAnswer> {
  const url = `${dns_url}?${new URLSearchParams({ name, type })}`;
  const text = `${name} does not resolve: check the name, or retry.`;
  const response = await fetch(url, {
    headers: { Accept: "application/dns-json" },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((cause: unknown) => {
    throw new AppError("unavailable", text, { cause });
  });
  const { data } = DnsAnswer.safeParse(await response.json().catch(() => null));
  if (response.ok && data?.Status === NO_ERROR) return data;
  throw new AppError("unavailable", text);
}
