import { servedRevision } from "../../control-plane/deployments/api/service.ts";
import { type AgentUiFiles, readUi } from "../../control-plane/deployments/isolate/ui-service.ts";
import type { Context } from "../../shared/context.ts";
import { AppError, notFound } from "../../shared/errors.ts";
import { httpSettings, isDisabled } from "../access/http-settings.ts";
import { openAgent } from "../access/service.ts";
import { resolveAssistant } from "../threads/api/assistants/run-assistants.ts";

type Ref = { deployment_id: string; agent: string };
type File = { text: string; type: string; etag: string };

const TYPES = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8" };

/** Finds UI files by their name in the configuration, or else by the graph of the assistant that `agent` names. */
export async function findUi(
  ctx: Context,
  { deployment_id, agent }: Ref,
): Promise<{ agent: string; files: AgentUiFiles }> {
  const active = await openAgent(ctx, deployment_id, "read");
  const named = await readUi(ctx.env, active, agent);
  if (named) return { agent, files: named };
  const { graph_id } = await resolveAssistant(ctx, active, agent);
  const files = await readUi(ctx.env, active, graph_id);
  if (!files) throw new AppError("not_found", `UI not found for agent "${agent}"`);
  return { agent: graph_id, files };
}

/** Returns a file to any caller: pages load scripts without a key. */
export async function getUiFile(env: Env, ref: Ref & { file: string }): Promise<File> {
  const revision = await servedRevision(env, ref.deployment_id);
  if (!revision) throw notFound("Deployment", ref.deployment_id);
  const isOff = isDisabled(httpSettings(revision.config), "/ui");
  const files = isOff ? null : await readUi(env, revision, ref.agent);
  const type = Object.entries(TYPES).find(([end]) => ref.file.endsWith(`.${end}`))?.[1];
  const text = files && Object.hasOwn(files, ref.file) ? files[ref.file] : undefined;
  if (text === undefined || type === undefined) {
    throw new AppError("not_found", `File not found: ${ref.agent}/${ref.file}`);
  }
  return { text, type, etag: `"${revision.revision_id}"` };
}
