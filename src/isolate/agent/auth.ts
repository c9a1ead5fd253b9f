import { auth } from "heddle:graphs";
import type {
  AuthCall,
  AuthRefusal,
  AuthResult,
  AuthUser,
  AuthVerdict,
  WireRequest,
} from "../auth-contract.ts";
import { failureText, toFailure } from "../failure.ts";
import { type AgentModule, LoadError, loadModule } from "../modules/agent-module.ts";
import { toFilters } from "./auth-filters.ts";

type Handler = (value: Record<string, unknown>) => unknown;

/**
 * Handlers of the SDK's class `Auth`. The agent has its own copy of the class, so only the shape
 * identifies it.
 */
type Handlers = {
  authenticate?: (request: Request) => unknown;
  callbacks?: Record<string, Handler>;
};

// Bounds the user, which is stored in one row with each run.
const MAX_USER_CHARACTERS = 64 * 1024;

/** Error with the fields of the SDK's HTTPException. */
class Forbidden extends Error {
  readonly status = 403;
  readonly headers = {};

  constructor() {
    super("Forbidden");
  }
}

const HANDLER_FAILED: AuthRefusal = { status: 500, message: "Internal Server Error", headers: [] };

/** @throws Error, for the log of the build, when the configured `Auth` is missing or does not authenticate */
export async function assertAuth(): Promise<void> {
  if (auth) authenticator(await handlersOf(auth));
}

export function authenticateRequest(request: WireRequest): Promise<AuthResult<AuthUser>> {
  return toResult("authenticate", async () => {
    const { url, method, headers } = request;
    const authenticate = authenticator(await handlers());
    return toUser(await authenticate(new Request(url, { method, headers })));
  });
}

/** Calls only the most specific handler for the event. Allows the event when no handler matches. */
export function authorize(call: AuthCall): Promise<AuthResult<AuthVerdict>> {
  const { resource, action, value, user } = call;
  const event = `${resource}:${action}`;
  return toResult(event, async () => {
    const { callbacks = {} } = await handlers();
    const name = [event, resource, `*:${action}`, "*"].find((key) => Object.hasOwn(callbacks, key));
    const handler = name === undefined ? undefined : callbacks[name];
    if (!handler) return { value, filters: null };
    const { permissions } = user;
    const result = await handler({ event, resource, action, value, user, permissions });
    if (result === false) throw new Forbidden();
    const isAllowed = result === null || result === undefined || result === true;
    // Drops functions and `undefined`, as the row would.
    const kept = JSON.parse(JSON.stringify(value)) as AuthVerdict["value"];
    return { value: kept, filters: isAllowed ? null : toFilters(result) };
  });
}

async function handlers(): Promise<Handlers> {
  if (!auth) throw new Error("langgraph.json of this revision names no auth.");
  return handlersOf(auth);
}

async function handlersOf(exported: AgentModule): Promise<Handlers> {
  const module = await loadModule(exported);
  const value = module[exported.export_name];
  if (typeof value === "object" && value !== null && "~handlerCache" in value) {
    return (value["~handlerCache"] ?? {}) as Handlers;
  }
  const known = Object.keys(module).join(", ") || "none";
  const text = `auth.path: its module has no Auth of @langchain/langgraph-sdk/auth as "${exported.export_name}" (it exports: ${known}).`;
  throw new Error(text);
}

function authenticator({ authenticate }: Handlers) {
  if (authenticate) return authenticate;
  throw new Error("auth.path: the Auth has no function that authenticates; call .authenticate().");
}

function toUser(answer: unknown): AuthUser {
  const user = typeof answer === "string" ? { identity: answer } : answer;
  if (!isUser(user)) {
    throw new Error("it must return a string, or an object whose identity is a string.");
  }
  const { permissions, display_name, is_authenticated } = user;
  const text = JSON.stringify({
    ...user,
    permissions: Array.isArray(permissions) ? permissions : [],
    display_name: display_name ?? user.identity,
    is_authenticated: is_authenticated ?? true,
  });
  if (text.length <= MAX_USER_CHARACTERS) return JSON.parse(text) as AuthUser;
  throw new Error(
    `it returned a user of ${text.length} characters; the limit is ${MAX_USER_CHARACTERS}.`,
  );
}

function isUser(value: unknown): value is { identity: string; [field: string]: unknown } {
  if (typeof value !== "object" || value === null || !("identity" in value)) return false;
  return typeof value.identity === "string" && value.identity !== "";
}

async function toResult<T>(what: string, work: () => Promise<T>): Promise<AuthResult<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    if (error instanceof LoadError) throw error;
    return { ok: false, refusal: toRefusal(what, error) };
  }
}

/**
 * Returns the status and text of an HTTPException. Another error becomes a 500, and its text goes only to the agent's
 * log.
 */
function toRefusal(what: string, error: unknown): AuthRefusal {
  if (isException(error)) {
    const headers = [...new Headers(error.headers)];
    return { status: error.status, message: error.message, headers };
  }
  // biome-ignore lint/suspicious/noConsole: the log of the agent, whose code this is
  console.error(`auth: ${what} failed:`, failureText(toFailure(error)));
  return HANDLER_FAILED;
}

/** Recognizes the HTTPExceptions of the SDK and of Hono, with a status from 400 to 599. */
function isException(error: unknown): error is Error & { status: number; headers?: HeadersInit } {
  if (!(error instanceof Error && "status" in error)) return false;
  if (!("headers" in error || "getResponse" in error)) return false;
  return typeof error.status === "number" && error.status >= 400 && error.status <= 599;
}
