import { WorkerEntrypoint } from "cloudflare:workers";
import { hasFrames, mapStack } from "../../../shared/source-maps/stacks.ts";
import { agentLog } from "./agent-log.ts";
import { sourceMapOf } from "./source-map-service.ts";
import {
  type AgentLine,
  type ReceivedLine,
  type TailProps,
  toEarlyLines,
  toLines,
} from "./tail-lines.ts";

/**
 * Receives the output and errors of a call after its end, so that no run waits. Lines of a running call arrive
 * earlier.
 */
export class AgentTail extends WorkerEntrypoint<Env, TailProps> {
  override async tail(events: TraceItem[]): Promise<void> {
    const { props } = this.ctx;
    await appendLines(this.env, props, toLines(props.revision_id, events));
  }

  async early(lines: ReceivedLine[]): Promise<void> {
    const { props } = this.ctx;
    await appendLines(this.env, props, toEarlyLines(props.revision_id, lines, Date.now()));
  }
}

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
