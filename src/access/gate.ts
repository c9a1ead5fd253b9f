import type { Context as HonoContext } from "hono";
import { createMiddleware } from "hono/factory";
import { type ActiveRevision, servedRevision } from "../deployments/service.ts";
import {
  type Access,
  type AgentUser,
  type AppEnv,
  type Caller,
  contextFor,
} from "../shared/context.ts";
import { AppError } from "../shared/errors.ts";
import { resolveCaller } from "../workspaces/auth.ts";
import { askAuth } from "./agent-auth.ts";
import { callerOf, NOBODY, STUDIO_USER } from "./callers.ts";
import { httpSettings, isDisabled } from "./http-settings.ts";
import { type AgentPlace, placeOf, toWireRequest } from "./request.ts";
import { toAccess } from "./service.ts";
import { type AuthSettings, authSettings } from "./settings.ts";

type Door = AgentPlace & {
  request: Request;
  served: ActiveRevision;
  auth: AuthSettings | null;
  /** The URL of a revision that is not the one which serves: only the workspace may try it. */
  isPreview: boolean;
};

/** What says who it is to nobody: clients ask before they have a token. */
const OPEN = [/^\/info$/, /^\/ui(\/|$)/];
/** What has nothing of a user's in its answer. */
const UNASKED = [...OPEN, /^\/ok$/];

/**
 * Every request to an agent comes through here. Where langgraph.json names no `auth`, whoever has a key of
 * the workspace may come in; where it does, whom the agent's own code lets in, and nobody else.
 */
export const admit = createMiddleware<AppEnv>(async (c, next) => {
  const door = await openDoor(c);
  const http = httpSettings(door?.served.config ?? null);
  if (door && isDisabled(http, door.path)) throw new AppError("not_found", "404 Not Found");
  const { caller, access } = await letIn(c.env, door, c.req.raw);
  const ctx = contextFor(c.env, caller);
  c.set("ctx", access ? { ...ctx, access } : ctx);
  await next();
  if (access?.user && c.res.ok && !access.wasAsked && !matches(UNASKED, door?.path)) {
    await c.res.body?.cancel();
    throw new AppError("internal", `${c.req.method} ${c.req.path} asked nobody whether it may`);
  }
});

async function openDoor(c: HonoContext<AppEnv>): Promise<Door | null> {
  const place = placeOf(c.req.path);
  const [deployment = ""] = place.ref.split("@");
  const serving = await servedRevision(c.env, deployment);
  const isPinned = place.ref !== deployment;
  const served = isPinned ? await servedRevision(c.env, place.ref) : serving;
  if (!served) return null;
  const isPreview = served.revision_id !== serving?.revision_id;
  const request = c.req.raw;
  return { ...place, request, served, auth: authSettings(served.config), isPreview };
}

async function letIn(
  env: Env,
  door: Door | null,
  request: Request,
): Promise<{ caller: Caller; access?: Access }> {
  if (!door?.auth) {
    const caller = await resolveCaller(env, request.headers);
    return door ? { caller, access: toAccess(door.served, null) } : { caller };
  }
  const isStudio = door.auth.allows_studio && request.headers.get("x-auth-scheme") === "langsmith";
  const caller = isStudio || door.isPreview ? await resolveCaller(env, request.headers) : null;
  // Of another workspace: nothing here is theirs, and the routes say so.
  if (caller && caller.workspace_id !== door.served.workspace_id) return { caller };
  const user = isStudio ? STUDIO_USER : await authenticateUser(env, door);
  const access = toAccess(door.served, user);
  return { caller: caller ?? (await callerOf(env, door.served, user)), access };
}

async function authenticateUser(env: Env, door: Door): Promise<AgentUser> {
  if (matches(OPEN, door.path) && door.request.method === "GET") return NOBODY;
  const wire = toWireRequest(door.request, door.path);
  return askAuth(env, door.served, (auth) => auth.authenticateRequest(wire));
}

function matches(patterns: RegExp[], path: string | undefined): boolean {
  return path !== undefined && patterns.some((pattern) => pattern.test(path));
}
