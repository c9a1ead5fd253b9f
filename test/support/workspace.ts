import { env, exports } from "cloudflare:workers";
import { type Caller, database } from "../../src/shared/context.ts";
import { createApiKey, createOrganization, createWorkspace } from "./organizations.ts";

export type TestWorkspace = {
  organization_id: string;
  workspace_id: string;
  admin: string;
  editor: string;
  viewer: string;
};

type Call = {
  key?: string;
  tenant?: string;
  method?: string;
  json?: unknown;
  /** A raw body, for what no client would send. */
  body?: string;
  headers?: Record<string, string>;
  redirect?: "manual";
};

/** A new organization with one workspace and a service key of each role. */
export async function workspace(input: { plan?: Caller["plan"] } = {}): Promise<TestWorkspace> {
  const db = database(env);
  const name = `acme-${crypto.randomUUID()}`;
  const { id: organization_id } = await createOrganization(db, {
    name,
    plan: input.plan ?? "enterprise",
  });
  const { id: workspace_id } = await createWorkspace(db, { organization_id, name: "research" });
  const key = async (role: Caller["role"]) => {
    const input = { kind: "service", organization_id, workspace_id, role } as const;
    return (await createApiKey(db, input)).api_key;
  };
  return {
    organization_id,
    workspace_id,
    admin: await key("admin"),
    editor: await key("editor"),
    viewer: await key("viewer"),
  };
}

/** Calls the Worker as a client does; `json` makes the method POST unless another is named. */
export function api(path: string, call: Call = {}): Promise<Response> {
  const headers = new Headers(call.headers);
  if (call.key !== undefined) headers.set("X-Api-Key", call.key);
  if (call.tenant !== undefined) headers.set("X-Tenant-Id", call.tenant);
  const hasBody = call.json !== undefined;
  if (hasBody) headers.set("Content-Type", "application/json");
  return exports.default.fetch(new URL(path, "https://heddle.test"), {
    method: call.method ?? (hasBody ? "POST" : "GET"),
    headers,
    ...(call.redirect && { redirect: call.redirect }),
    ...(hasBody ? { body: JSON.stringify(call.json) } : {}),
    ...(call.body === undefined ? {} : { body: call.body }),
  });
}
