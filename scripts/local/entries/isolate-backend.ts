import { WorkerEntrypoint } from "cloudflare:workers";
import {
  type RevisionCode,
  readRevisionCode,
} from "../../../src/control-plane/deployments/isolate/isolate.ts";
import { agentLog } from "../../../src/control-plane/deployments/logs/agent-log.ts";
import type { TailProps } from "../../../src/control-plane/deployments/logs/tail.ts";
import {
  type AgentLine,
  type ReceivedLine,
  toEarlyLines,
} from "../../../src/control-plane/deployments/logs/tail-lines.ts";

/** Methods that the process of a workspace calls in the main process, for one revision. */
export class IsolateBackend extends WorkerEntrypoint<Env, TailProps> {
  readCode(): Promise<RevisionCode> {
    return readRevisionCode(this.env, this.ctx.props);
  }

  async appendLines(lines: AgentLine[]): Promise<void> {
    const { deployment_id } = this.ctx.props;
    await agentLog(this.env, deployment_id).append(deployment_id, lines);
  }

  early(lines: ReceivedLine[]): Promise<void> {
    return this.appendLines(toEarlyLines(this.ctx.props.revision_id, lines, Date.now()));
  }
}
