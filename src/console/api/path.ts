declare const brand: unique symbol;

/** A path of the API without a query. Only this file creates one, and encodes or checks each part of it. */
export type ApiPath = string & { readonly [brand]: true };

/** Builds a path from a template, such as `/v2/deployments/${id}`. */
export type PathTag = (texts: TemplateStringsArray, ...values: string[]) => ApiPath;

/** Builds a path from the origin. */
export const apiPath: PathTag = under("");

/** @returns a tag that builds paths below another one */
export function under(base: ApiPath | ""): PathTag {
  return ({ raw }, ...values) => {
    const [first = "", ...texts] = raw;
    const rest = texts.map((text, index) => encodePart(values[index]) + text);
    return [base, first, ...rest].join("") as ApiPath;
  };
}

/**
 * Parses a URL of this origin that an answer of the API contains.
 * @throws Error for another origin, and for a path that a URL parser changes
 */
export function parseApiUrl(
  url: string,
  origin: string,
): { path: ApiPath; query: Record<string, string> } {
  const [text = "", search = ""] = url.replace(`${origin}/`, "/").split("?", 2);
  assertSamePath(text, text, origin);
  return { path: text as ApiPath, query: Object.fromEntries(new URLSearchParams(search)) };
}

/**
 * Compares the URL that `fetch` resolves with the path that a page built: `..`, `//host` and a backslash change it.
 * @throws Error when the origin or the path differs
 */
export function assertSamePath(url: string, path: string, origin: string): void {
  const resolved = new URL(url, origin);
  if (resolved.origin === origin && resolved.pathname === path) return;
  throw new Error(`Path refused: ${JSON.stringify(path.slice(0, MAX_SHOWN))} is not canonical`);
}

export const SESSION = apiPath`/v1/session`;

const MAX_SHOWN = 200;

/** Parts that encoding does not make safe: URL parsers resolve dots, and some servers drop an empty part. */
const REFUSED = ["", ".", ".."];

function encodePart(value: string | undefined): string {
  if (typeof value !== "string" || REFUSED.includes(value) || !value.isWellFormed()) {
    const shown = JSON.stringify(String(value).slice(0, MAX_SHOWN));
    throw new Error(`Path part refused: ${shown} is empty, a dot segment or not Unicode text`);
  }
  // `deployment@revision` names a revision of an agent.
  return encodeURIComponent(value).replaceAll("%40", "@");
}

/**
 * Ends of the paths whose POST changes nothing. No other POST is sent by opening a page: a link must not change data.
 */
const READS = [
  "/changes",
  "/count_by_status",
  "/estimate",
  "/history",
  "/namespaces",
  "/query",
  "/search",
  "/stats",
  "/validate",
  "/versions",
];

/** @throws Error for a path whose POST may change something */
export function assertRead(path: ApiPath): void {
  if (!READS.some((end) => path.endsWith(end)))
    throw new Error(`A POST to ${path} may change something`);
}
