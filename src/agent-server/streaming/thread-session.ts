import { WorkerEntrypoint } from "cloudflare:workers";
import { assertCachedPrincipal } from "../../control-plane/workspaces/service.ts";
import { type Context, contextFor } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { log } from "../../shared/log.ts";
import { accessOf } from "../access/service.ts";
import { parseCommand } from "../threads/events/command.ts";
import type { EventSession, SessionRefusal } from "../threads/events/session.ts";
import { answerCommand } from "./commands.ts";
import { assertVisible } from "./service.ts";

const DENIED = ["unauthenticated", "forbidden", "not_found"];
/** Has the status 408, after which clients connect again with a fresh credential. */
const SESSION_EXPIRED: SessionRefusal = {
  status: 408,
  message: "The session has expired: connect again.",
};

/** Executes the commands of a session with the current permissions of its principal. */
export class ThreadSession extends WorkerEntrypoint<Env, EventSession> {
  /** @returns the reply as JSON text */
  async executeCommand(text: string): Promise<string> {
    const parsed = parseCommand(text);
    if (parsed.type === "error") return JSON.stringify({ ...parsed, id: null });
    const command = parsed.value;
    try {
      return JSON.stringify(await answerCommand(await this.#context(), this.ctx.props, command));
    } catch (error) {
      const { code, message } = AppError.from(error);
      if (code === "internal") log.error("socket_command_failed", error);
      const name = DENIED.includes(code) ? "permission_denied" : "unknown_error";
      return JSON.stringify({ type: "error", id: command.id, error: name, message });
    }
  }

  /** @returns `null` when the principal may read the thread. @throws Error while this cannot be checked */
  async checkAccess(): Promise<SessionRefusal | null> {
    const { expires_at } = this.ctx.props;
    if (expires_at !== null && expires_at <= Date.now()) return SESSION_EXPIRED;
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
