// Envelope, errors and routing of the Cloudflare API v4, as its OpenAPI document publishes them.

export type Call = {
  method: string;
  /** Below `/accounts/{account_id}`. */
  path: string;
  query: URLSearchParams;
  jurisdiction: string | null;
  body: Buffer;
  content_type: string;
};

/** Values of the path's placeholders, in their order. */
type Handler = (call: Call, values: string[]) => unknown;
export type Routes = Record<string, Handler>;

export class ApiFailure extends Error {
  readonly status: number;
  readonly code: number;
  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** A result with pages. */
export class Paged {
  readonly items: unknown[];
  readonly page: number;
  readonly per_page: number;
  constructor(items: unknown[], query: URLSearchParams, per_page: number) {
    this.items = items;
    this.page = Number(query.get("page") ?? 1);
    this.per_page = per_page;
  }
}

export function json<T>(call: Call): T {
  return JSON.parse(call.body.toString("utf8")) as T;
}

export function form(call: Call): Promise<FormData> {
  const headers = { "Content-Type": call.content_type };
  return new Response(new Uint8Array(call.body), { headers }).formData();
}

/** Calls the handler of the route `METHOD /path/:name` that matches. */
export async function route(routes: Routes, call: Call): Promise<unknown> {
  for (const [name, handler] of Object.entries(routes)) {
    const [method = "", path = ""] = name.split(" ");
    const pattern = new RegExp(`^${path.replaceAll(/:\w+/g, "([^/]+)")}$`);
    const match = method === call.method ? pattern.exec(call.path) : null;
    if (match) return await handler(call, match.slice(1).map(decodeURIComponent));
  }
  throw new ApiFailure(404, 7000, `No route for that URI: ${call.method} ${call.path}`);
}

export function success(result: unknown): object {
  const ok = { success: true, errors: [], messages: [] };
  if (!(result instanceof Paged)) return { ...ok, result: result ?? null };
  const { items, page, per_page } = result;
  const shown = items.slice((page - 1) * per_page, page * per_page);
  const total_pages = Math.ceil(items.length / per_page);
  const info = { page, per_page, count: shown.length, total_count: items.length, total_pages };
  return { ...ok, result: shown, result_info: info };
}

export function failure({ code, message }: ApiFailure): object {
  return { success: false, errors: [{ code, message }], messages: [], result: null };
}
