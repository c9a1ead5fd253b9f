import type { AuthAnswer } from "../../../isolate/contract.ts";
import { handOn } from "../../../shared/rpc.ts";
import { agentTokens } from "../callbacks.ts";
import type { StoredRun } from "../storage/run-rows.ts";

/** An agent asks for its user's token: the run says who that is, the agent has no word in it. */
export function authenticateRun(run: StoredRun, body: string): Promise<AuthAnswer> {
  const { created_by, assistant_id, graph_id, kwargs } = run;
  if (created_by === null) return Promise.resolve(nobody());
  const { user_id } = kwargs.config.configurable ?? {};
  const tokens = agentTokens({
    caller: created_by.caller,
    origin: created_by.origin,
    user_id: typeof user_id === "string" ? user_id : null,
    agent_ids: [assistant_id, graph_id],
  });
  return handOn(tokens.authenticate(body));
}

function nobody(): AuthAnswer {
  const detail = "This run has no principal: create another run.";
  return { status: 403, body: JSON.stringify({ detail }), retry_after_seconds: null };
}
