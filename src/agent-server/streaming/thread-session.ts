import { WorkerEntrypoint } from "cloudflare:workers";
import { assertCachedPrincipal } from "../../control-plane/workspaces/service.ts";
import { type Context, contextFor } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { accessOf } from "../access/service.ts";
import { readCommand } from "../threads/events/envelope.ts";
import type { EventSession, SessionRefusal } from "../threads/events/session.ts";
import { answerCommand } from "./commands.ts";
import { assertVisible } from "./service.ts";

const DENIED = ["unauthenticated", "forbidden", "not_found"];
/** A status after which clients connect again, with the credential that they have then. */
const ENDED: SessionRefusal = { status: 408, message: "The session has expired: connect again." };

/** Carries out the commands of a session. Checks what its principal may do at the time of each command. */
export class ThreadSession extends WorkerEntrypoint<Env, EventSession> {
  /** The answer to a command, as JSON text. */
  async command(text: string): Promise<string> {
    const read = readCommand(text);
    if (read.type === "error") return JSON.stringify({ ...read, id: null });
    const command = read.value;
    try {
      return JSON.stringify(await answerCommand(await this.#context(), this.ctx.props, command));
    } catch (error) {
      const { code, message } = AppError.from(error);
      const name = DENIED.includes(code) ? "permission_denied" : "unknown_error";
      return JSON.stringify({ type: "error", id: command.id, error: name, message });
    }
  }

  /** @returns `null` when the principal may read the thread */
  async mayRead(): Promise<SessionRefusal | null> {
    const { expires_at } = this.ctx.props;
    if (expires_at !== null && expires_at <= Date.now()) return ENDED;
    try {
      await assertVisible(await this.#context(), this.ctx.props);
      return null;
    } catch (error) {
      const { status, message } = AppError.from(error);
      if (status >= 500) throw error;
      return { status, message };
    }
  }

  async #context(): Promise<Context> {
    const { caller, deployment_id, user } = this.ctx.props;
    const ctx = contextFor(this.env, caller);
    await assertCachedPrincipal(this.env, caller, 0);
    const access = await accessOf(this.env, deployment_id, { caller, user });
    return access ? { ...ctx, access } : ctx;
  }
}
