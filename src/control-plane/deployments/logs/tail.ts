import { WorkerEntrypoint } from "cloudflare:workers";
import { agentLog } from "./agent-log.ts";
import { type AgentLine, type ReceivedLine, toEarlyLines, toLines } from "./tail-lines.ts";

export type TailProps = { deployment_id: string; revision_id: string };

/**
 * Receives the output and errors of a call after its end, so that no run waits. Lines of a running call arrive
 * earlier.
 */
export class AgentTail extends WorkerEntrypoint<Env, TailProps> {
  override async tail(events: TraceItem[]): Promise<void> {
    const { deployment_id, revision_id } = this.ctx.props;
    await this.#append(deployment_id, toLines(revision_id, events));
  }

  async early(lines: ReceivedLine[]): Promise<void> {
    const { deployment_id, revision_id } = this.ctx.props;
    await this.#append(deployment_id, toEarlyLines(revision_id, lines, Date.now()));
  }

  async #append(deployment_id: string, lines: AgentLine[]): Promise<void> {
    if (lines.length > 0) await agentLog(this.env, deployment_id).append(deployment_id, lines);
  }
}
