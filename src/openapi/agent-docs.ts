import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Context as HonoContext, Next } from "hono";
import { agentServerUrl } from "../agent-server/access/agent-urls.ts";
import { httpSettings, isDisabled } from "../agent-server/access/http-settings.ts";
import { parseAgentPath } from "../agent-server/access/request.ts";
import { servedRevision } from "../control-plane/deployments/api/service.ts";
import type { AppEnv } from "../shared/context.ts";
import { docsPage, VIEWER_FILES, viewerFile } from "./docs.ts";
import type { Document } from "./openapi.ts";

const AGENT = "/agents/{deployment_id}";
const ROUTE = "/agents/:deployment_id";

/** Returns the document of one agent: its operations, with the agent's name as the title and its URL as the server. */
function toAgentDocument(document: Document, name: string, url: string): Document {
  const own = Object.entries(document.paths ?? {}).filter(([path]) => path.startsWith(`${AGENT}/`));
  const paths = own.map(([path, item]) => [path.slice(AGENT.length), withoutDeployment(item)]);
  const used = new Set(own.flatMap(([, item]) => tagsOf(item)));
  return {
    ...document,
    info: { ...document.info, title: name, description: `The agent server of ${name}.` },
    tags: document.tags?.filter((tag) => used.has(tag.name)) ?? [],
    servers: [{ url }],
    paths: Object.fromEntries(paths),
  };
}

function tagsOf(item: PathItem): string[] {
  return Object.values(item).flatMap(({ tags = [] }: Contract) => tags);
}

type PathItem = NonNullable<Document["paths"]>[string];
type Contract = { parameters?: { name?: string }[]; tags?: string[] };

function withoutDeployment(item: PathItem): PathItem {
  const operations = Object.entries(item).map(([method, contract]: [string, Contract]) => {
    const parameters = contract.parameters?.filter(({ name }) => name !== "deployment_id");
    return [method, { ...contract, ...(parameters && { parameters }) }];
  });
  return Object.fromEntries(operations);
}

/**
 * Adds the routes of an agent's public documents at one of two places. `createApp` calls it for both. The gate may call
 * the agent's own app, which may have these paths. So the routes before the gate pass on requests that the gate decides.
 * The routes behind the gate answer them when the app does not.
 */
export function addAgentDocs(
  app: OpenAPIHono<AppEnv>,
  documentOf: () => Document,
  place: "before the gate" | "behind it",
): void {
  const isPassedOn = async (c: HonoContext<AppEnv>) => place === "before the gate" && isForGate(c);
  const add = (path: string, answer: (c: HonoContext<AppEnv>) => Response | Promise<Response>) =>
    app.get(`${ROUTE}${path}`, async (c, next: Next) =>
      (await isPassedOn(c)) ? next() : answer(c),
    );
  add("/openapi.json", async (c) => {
    const revision = await servedRevision(c.env, parseAgentPath(c.req.path).ref);
    return c.json(toAgentDocument(documentOf(), revision?.name ?? "Agent", serverUrl(c)));
  });
  add("/docs", (c) => docsPage(c, ""));
  for (const file of VIEWER_FILES) add(file, () => viewerFile(file));
}

/** Whether the gate decides: no revision serves, the agent has an app, or `http.disable_meta` hides the documents. */
async function isForGate(c: HonoContext<AppEnv>): Promise<boolean> {
  const { ref, path } = parseAgentPath(c.req.path);
  const revision = await servedRevision(c.env, ref);
  if (!revision) return true;
  const http = httpSettings(revision.config);
  return Boolean(http.app) || isDisabled(http, path);
}

function serverUrl(c: HonoContext<AppEnv>): string {
  return agentServerUrl(c.req.raw, c.env, parseAgentPath(c.req.path).ref);
}
