import { WorkerEntrypoint } from "cloudflare:workers";
import {
  type RevisionCode,
  readRevisionCode,
} from "../../src/control-plane/deployments/isolate/revision-code.ts";
import { appendLines } from "../../src/control-plane/deployments/logs/tail.ts";
import {
  type AgentLine,
  type ReceivedLine,
  type TailProps,
  toEarlyLines,
} from "../../src/control-plane/deployments/logs/tail-lines.ts";

/** Methods that the process of a workspace calls in the main process, for one revision. */
export class IsolateBackend extends WorkerEntrypoint<Env, TailProps> {
  readCode(secrets_version: number): Promise<RevisionCode> {
    return readRevisionCode(this.env, { ...this.ctx.props, secrets_version });
  }

  appendLines(lines: AgentLine[]): Promise<void> {
    return appendLines(this.env, this.ctx.props, lines);
  }

  early(lines: ReceivedLine[]): Promise<void> {
    return this.appendLines(toEarlyLines(this.ctx.props.revision_id, lines, Date.now()));
  }
}
