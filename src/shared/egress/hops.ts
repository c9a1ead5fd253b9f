import { AppError } from "../errors.ts";

/** A request in a chain of redirects. */
export type Hop = { url: URL; init: RequestInit & { headers: Headers } };

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Headers that are sent to another origin after a redirect. Others can be credentials. */
const HARMLESS_HEADERS = new Set([
  "accept",
  "accept-encoding",
  "content-type",
  "range",
  "user-agent",
]);

export function isRedirect(status: number): boolean {
  return REDIRECTS.has(status);
}

export function follow(hop: Hop, status: number, location: string): Hop {
  const url = toUrl(location, hop.url);
  const headers = headersFor(hop, url);
  const { method = "GET", body, ...rest } = hop.init;
  if (status !== 307 && status !== 308) {
    headers.delete("content-type");
    return { url, init: { ...rest, method: method === "HEAD" ? "HEAD" : "GET", headers } };
  }
  if (body instanceof ReadableStream) {
    const text = `${hop.url.host} redirected a request with a streamed body, which cannot be repeated: use the URL it redirects to.`;
    throw new AppError("unavailable", text);
  }
  return { url, init: { ...hop.init, headers } };
}

function headersFor(hop: Hop, url: URL): Headers {
  const headers = new Headers(hop.init.headers);
  if (url.origin === hop.url.origin) return headers;
  for (const name of [...headers.keys()]) if (!HARMLESS_HEADERS.has(name)) headers.delete(name);
  return headers;
}

export function toUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href);
  if (url === null) throw new AppError("invalid_request", `"${text}" is not a URL.`);
  return url;
}
