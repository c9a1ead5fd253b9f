import { z } from "zod";
import { isPublicHost } from "./addresses.ts";
import { AppError } from "./errors.ts";

const DnsRecord = z.object({ type: z.number(), data: z.string() });
type DnsRecord = z.infer<typeof DnsRecord>;
const DnsAnswer = z.object({ Answer: z.array(DnsRecord).optional() });

type Looked = { address: string | null; until_ms: number };

const TYPES = { A: 1, AAAA: 28 } as const;
const TIMEOUT_MS = 5000;
/** A page of a build asks the same few hosts hundreds of times. */
const REMEMBER_MS = 30_000;
const MAX_NAMES = 1000;

const looked = new Map<string, Looked>();

/** An address of this name that is not public, by a DNS-over-HTTPS resolver that answers in JSON; null when all are. */
export async function privateAddressOf(dns_url: string, hostname: string): Promise<string | null> {
  const key = `${dns_url} ${hostname}`;
  const known = looked.get(key);
  if (known !== undefined && known.until_ms > Date.now()) return known.address;
  const records = await Promise.all([ask(dns_url, hostname, "A"), ask(dns_url, hostname, "AAAA")]);
  const address = firstPrivate(records.flat());
  if (looked.size >= MAX_NAMES) looked.clear();
  looked.set(key, { address, until_ms: Date.now() + REMEMBER_MS });
  return address;
}

/** Aliases on the way do not matter: what they lead to is in the same answer. */
export function firstPrivate(records: DnsRecord[]): string | null {
  for (const { type, data } of records) {
    if (type === TYPES.A && !isPublicHost(data)) return data;
    if (type === TYPES.AAAA && !isPublicHost(hostOf(data))) return data;
  }
  return null;
}

/** As `URL` writes it; what is no address at all is nobody's public one. */
function hostOf(address: string): string {
  return URL.parse(`https://[${address}]`)?.hostname ?? "[::]";
}

async function ask(dns_url: string, name: string, type: keyof typeof TYPES): Promise<DnsRecord[]> {
  const url = `${dns_url}?${new URLSearchParams({ name, type })}`;
  const text = `${name} cannot be looked up now; try again.`;
  const response = await fetch(url, {
    headers: { Accept: "application/dns-json" },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((cause: unknown) => {
    throw new AppError("unavailable", text, { cause });
  });
  const answer = DnsAnswer.safeParse(await response.json().catch(() => null));
  if (!response.ok || !answer.success) throw new AppError("unavailable", text);
  return answer.data.Answer ?? [];
}
