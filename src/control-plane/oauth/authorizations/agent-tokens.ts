import { WorkerEntrypoint } from "cloudflare:workers";
import { type Caller, contextFor, database } from "../../../shared/context.ts";
import { AppError } from "../../../shared/errors.ts";
import { parseJsonBody } from "../../../shared/http/json-body.ts";
import { toIssues } from "../../../shared/validation.ts";
import { findActivePrincipal } from "../../workspaces/service.ts";
import { AuthenticateRequest } from "../authorization-schema.ts";
import { subjectOf } from "../owner.ts";
import { authenticateUser } from "./authorization-service.ts";

/** `caller`: the principal of a run. `user_id`: the user of the run. `agent_ids`: all ids of the run's agent. */
type RunProps = { caller: Caller; origin: string; user_id: string | null; agent_ids: string[] };

type Answer = { status: number; body: string; retry_after_seconds: number | null };

/** Returns the token of a run's user. The props come from Heddle, the body from the agent. */
export class AgentTokens extends WorkerEntrypoint<Env, RunProps> {
  async authenticate(body: string): Promise<Answer> {
    try {
      const answer = await this.#authenticate(body);
      return { status: 200, body: JSON.stringify(answer), retry_after_seconds: null };
    } catch (error) {
      const failure = AppError.from(error);
      if (failure.code === "internal") throw error;
      return {
        status: failure.status,
        body: JSON.stringify({ detail: failure.issues ?? failure.message }),
        retry_after_seconds: failure.retry_after_seconds ?? null,
      };
    }
  }

  /** Reads the principal again, because a run may last longer than the rights of its principal. */
  async #authenticate(body: string) {
    const { origin, user_id, agent_ids } = this.ctx.props;
    const caller = await findActivePrincipal(database(this.env), this.ctx.props.caller);
    const data = read(body);
    if (data.user_id && subjectOf(caller, data) !== subjectOf(caller, { user_id })) {
      const text = "user_id must be the user of the run.";
      throw new AppError("forbidden", text);
    }
    if (data.agent_id && !agent_ids.includes(data.agent_id)) {
      throw new AppError("forbidden", "agent_id must be the agent of the run.");
    }
    return authenticateUser(contextFor(this.env, caller), { ...data, user_id }, origin);
  }
}

function read(body: string): AuthenticateRequest {
  const parsed = AuthenticateRequest.safeParse(parseJsonBody(body));
  if (parsed.success) return parsed.data;
  const issues = toIssues(parsed.error, ["body"]);
  throw new AppError("invalid_request", "The body is not a valid authenticate request.", {
    issues,
  });
}
