import { hasFrames, mapStack } from "../../../shared/source-maps/stacks.ts";
import { agentLog } from "./agent-log.ts";
import { sourceMapOf } from "./source-map-service.ts";
import type { AgentLine, TailProps } from "./tail-lines.ts";

/** Agents may print stacks without end, so only the first ones of a call are mapped. */
const MAX_STACKS = 20;

/** Appends lines to the log of a deployment's agents, with positions of the repository. */
export async function appendLines(env: Env, props: TailProps, lines: AgentLine[]): Promise<void> {
  if (lines.length === 0) return;
  const { deployment_id } = props;
  await agentLog(env, deployment_id).append(deployment_id, await mapLines(env, props, lines));
}

async function mapLines(env: Env, props: TailProps, lines: AgentLine[]): Promise<AgentLine[]> {
  const stacks = new Set(lines.filter(({ message }) => hasFrames(message)).slice(0, MAX_STACKS));
  const map = stacks.size === 0 ? null : await sourceMapOf(env, props);
  if (map === null) return lines;
  return lines.map((line) =>
    stacks.has(line) ? { ...line, message: mapStack(map, line.message) } : line,
  );
}
