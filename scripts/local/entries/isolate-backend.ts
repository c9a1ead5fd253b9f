import { WorkerEntrypoint } from "cloudflare:workers";
import { agentLog } from "../../../src/deployments/agent-log.ts";
import { type RevisionCode, readRevisionCode } from "../../../src/deployments/isolate.ts";
import type { TailProps } from "../../../src/deployments/tail.ts";
import {
  type AgentLine,
  type EarlyLine,
  toEarlyLines,
} from "../../../src/deployments/tail-lines.ts";

/** What the process of a workspace calls in the main process, for one revision. */
export class IsolateBackend extends WorkerEntrypoint<Env, TailProps> {
  readCode(): Promise<RevisionCode> {
    return readRevisionCode(this.env, this.ctx.props);
  }

  async appendLines(lines: AgentLine[]): Promise<void> {
    const { deployment_id } = this.ctx.props;
    await agentLog(this.env, deployment_id).append(deployment_id, lines);
  }

  early(lines: EarlyLine[]): Promise<void> {
    return this.appendLines(toEarlyLines(this.ctx.props.revision_id, lines, Date.now()));
  }
}
