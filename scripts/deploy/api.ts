// The reads of `npm run deploy`, because wrangler has no machine-readable form of most lists. Wrangler makes all
// changes.
import { setTimeout as sleep } from "node:timers/promises";
import { DeployError, describeProblem } from "./problems.ts";

type Envelope = {
  success: boolean;
  errors: { code: number | null; message: string }[];
  result: unknown;
  result_info?: { page?: number; total_pages?: number };
};

export type Api = ReturnType<typeof connectApi>;

class CallError extends DeployError {
  readonly status: number;
  readonly code: number | null;
  constructor(path: string, status: number, code: number | null, message: string) {
    super(describeProblem(path, code, message));
    this.status = status;
    this.code = code;
  }
}

const ATTEMPTS = 4;
const PAUSE_MS = 500;
const LONGEST_PAUSE_S = 60;

export function readCredentials(environment: NodeJS.ProcessEnv) {
  const missing = ["CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_API_TOKEN"].filter(
    (name) => !environment[name]?.trim(),
  );
  if (missing.length > 0) {
    throw new DeployError(
      `${missing.join(" and ")} must be set. docs/guides/operate-regions.md names the permissions of the token.`,
    );
  }
  return {
    account_id: environment.CLOUDFLARE_ACCOUNT_ID?.trim() ?? "",
    token: environment.CLOUDFLARE_API_TOKEN?.trim() ?? "",
    base_url: environment.CLOUDFLARE_API_BASE_URL ?? "https://api.cloudflare.com/client/v4",
  };
}

export function connectApi({ account_id, token, base_url }: ReturnType<typeof readCredentials>) {
  const root = `${base_url}/accounts/${account_id}`;

  async function call(path: string, init: RequestInit = {}, attempt = 1): Promise<Envelope> {
    const headers = { ...init.headers, Authorization: `Bearer ${token}` };
    const response = await fetch(root + path, { ...init, headers }).catch(noAnswer);
    const mayPass = response.status === 429 || response.status >= 500;
    if (!mayPass || attempt === ATTEMPTS) return await readEnvelope(path, response);
    await sleep(pauseOf(response, attempt));
    return await call(path, init, attempt + 1);
  }

  async function get<T>(path: string, headers: Record<string, string> = {}): Promise<T> {
    return (await call(path, { headers })).result as T;
  }

  return {
    get,
    /** @returns `null` when the resource does not exist */
    find: async <T>(path: string, headers: Record<string, string> = {}): Promise<T | null> =>
      await get<T>(path, headers).catch((error: unknown) => {
        if (error instanceof CallError && error.status === 404 && error.code !== 7003) return null;
        throw error;
      }),
    list: async <T>(path: string): Promise<T[]> => {
      const all: T[] = [];
      for (let page = 1; ; page += 1) {
        const { result, result_info } = await call(`${path}?page=${page}`);
        all.push(...(result as T[]));
        if (page >= (result_info?.total_pages ?? 1)) return all;
      }
    },
    /** Runs SQL that reads. @returns the rows; none when the table does not exist yet */
    query: async <T>(database_id: string, sql: string): Promise<T[]> => {
      const init = { method: "POST", body: JSON.stringify({ sql }) };
      try {
        const { result } = await call(`/d1/database/${database_id}/query`, init);
        return (result as { results: T[] }[])[0]?.results ?? [];
      } catch (error) {
        if (error instanceof CallError && error.message.includes("no such table")) return [];
        throw error;
      }
    },
  };
}

function noAnswer(error: unknown): Response {
  const { cause = error } = Object(error);
  const body = { success: false, errors: [{ code: null, message: `no answer (${cause})` }] };
  return Response.json(body, { status: 599 });
}

async function readEnvelope(path: string, response: Response): Promise<Envelope> {
  const { status } = response;
  const envelope = (await response.json().catch(() => null)) as Envelope | null;
  if (envelope?.success) return envelope;
  const [first] = envelope?.errors ?? [];
  const message = first?.message ?? `HTTP ${status}`;
  throw new CallError(path, status, first?.code ?? null, message);
}

function pauseOf({ headers }: Response, attempt: number): number {
  const seconds = Number(headers.get("Retry-After"));
  if (seconds > 0) return Math.min(seconds, LONGEST_PAUSE_S) * 1000;
  return PAUSE_MS * 2 ** attempt * (0.5 + Math.random() / 2);
}
