import type { z } from "@hono/zod-openapi";
import { isTransient } from "./grants.ts";
import { issuersOf, metadataUrls, ServerMetadata } from "./metadata.ts";
import type { ProviderFailure } from "./provider-access.ts";
import { callProvider } from "./provider-client.ts";

/**
 * Maximum time for all addresses of a document: refreshes of a token wait while its revocation discovers the endpoint.
 */
const DISCOVERY_MS = 10_000;

type Discovered<T> = { ok: true; value: T | null } | ProviderFailure;

/**
 * Fetches a published document.
 * @returns `null` as the value when it does not exist or has another shape; a failure when the host is unavailable or
 * the request is not allowed
 */
async function readDocument<T extends z.ZodType>(
  env: Env,
  schema: T,
  url: string,
  timeout_ms: number,
): Promise<Discovered<z.infer<T>>> {
  const answer = await callProvider(env, { method: "GET", url, timeout_ms });
  if (!answer.ok) return answer;
  if (isTransient(answer.status)) {
    const message = `${answer.host} answers ${answer.status} for ${url}.`;
    return { ok: false, reason: "unavailable", message };
  }
  if (answer.status !== 200) return { ok: true, value: null };
  const parsed = schema.safeParse(answer.body);
  return { ok: true, value: parsed.success ? parsed.data : null };
}

/** Returns the first document that `isWanted` accepts, or `null` as the value. Stops at the first failure. */
export async function readFirst<T extends z.ZodType>(
  env: Env,
  schema: T,
  urls: readonly string[],
  isWanted: (value: z.infer<T>) => boolean,
): Promise<Discovered<z.infer<T>>> {
  const ends_at = Date.now() + DISCOVERY_MS;
  for (const url of urls) {
    const left_ms = ends_at - Date.now();
    if (left_ms <= 0) return tooSlow(url);
    const found = await readDocument(env, schema, url, left_ms);
    if (!found.ok) return found;
    if (found.value !== null && isWanted(found.value)) return found;
  }
  return { ok: true, value: null };
}

function tooSlow(url: string): ProviderFailure {
  const limit = `${DISCOVERY_MS / 1000} seconds`;
  const message = `${new URL(url).host} did not answer the requests for its metadata within ${limit}.`;
  return { ok: false, reason: "unavailable", message };
}

/**
 * Discovers the revocation endpoint. Metadata is trusted only from the host of `token_url`, and only if it names
 * `token_url` as its token endpoint.
 */
export async function discoverRevocation(env: Env, token_url: string): Promise<Discovered<string>> {
  const urls = [...new Set(issuersOf(token_url).flatMap(metadataUrls))];
  const isOurs = (metadata: ServerMetadata) =>
    new URL(metadata.token_endpoint).href === new URL(token_url).href;
  const found = await readFirst(env, ServerMetadata, urls, isOurs);
  return found.ok ? { ok: true, value: found.value?.revocation_endpoint ?? null } : found;
}
