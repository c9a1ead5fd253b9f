import { WorkerEntrypoint } from "cloudflare:workers";
import { appendLines } from "./append-lines.ts";
import { type ReceivedLine, type TailProps, toEarlyLines, toLines } from "./tail-lines.ts";

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
