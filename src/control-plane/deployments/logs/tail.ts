import { WorkerEntrypoint } from "cloudflare:workers";
import { hasFrames, mapStack } from "../../../shared/source-maps/stacks.ts";
import { agentLog } from "./agent-log.ts";
import { sourceMapOf } from "./source-map-service.ts";
import { type AgentLine, type ReceivedLine, toEarlyLines, toLines } from "./tail-lines.ts";

export type TailProps = { deployment_id: string; revision_id: string };

const MAX_STACKS = 20;

/**
 * Receives the output and errors of a call after its end, so that no run waits. Lines of a running call arrive
 * earlier.
 */
export class AgentTail extends WorkerEntrypoint<Env, TailProps> {
  override async tail(events: TraceItem[]): Promise<void> {
    const { revision_id } = this.ctx.props;
    await this.#append(toLines(revision_id, events));
  }

  async early(lines: ReceivedLine[]): Promise<void> {
    const { revision_id } = this.ctx.props;
    await this.#append(toEarlyLines(revision_id, lines, Date.now()));
  }

  async #append(lines: AgentLine[]): Promise<void> {
    if (lines.length === 0) return;
    const { deployment_id } = this.ctx.props;
    await agentLog(this.env, deployment_id).append(deployment_id, await this.#mapped(lines));
  }

  /** Agents may print stacks without end, so only the first lines of a call are mapped. */
  async #mapped(lines: AgentLine[]): Promise<AgentLine[]> {
    const stacks = new Set(lines.filter(({ message }) => hasFrames(message)).slice(0, MAX_STACKS));
    const map = stacks.size === 0 ? null : await sourceMapOf(this.env, this.ctx.props);
    if (map === null) return lines;
    return lines.map((line) =>
      stacks.has(line) ? { ...line, message: mapStack(map, line.message) } : line,
    );
  }
}
