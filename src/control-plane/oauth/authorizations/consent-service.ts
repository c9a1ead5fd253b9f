import { eq } from "drizzle-orm";
import { type Database, database } from "../../../shared/context.ts";
import { findIdentity, type Identity } from "../../workspaces/service.ts";
import type { CallbackQuery, Confirmation } from "../authorization-schema.ts";
import { actorOf } from "../owner.ts";
import { isPending } from "../pending-authorization.ts";
import { oauth_authorizations, oauth_providers } from "../table.ts";
import {
  type CallbackOutcome,
  finishAuthorization,
  problemOf,
  refuseAuthorization,
  unknownState,
} from "./callback-service.ts";

/** Content of the consent page, for the person at the browser, who may not be the requester. */
export type Question = {
  status: "unconfirmed";
  provider_id: string;
  provider_name: string;
  requester: Identity;
  /** Id of the user that the token is for, as the requester names its users; empty for the requester itself. */
  subject: string;
  agent_id: string | null;
  scopes: readonly string[];
  query: CallbackQuery;
};

/**
 * Returns the content of the consent page after the provider's redirect. The requester may have sent the link to
 * another person, so the code is exchanged only after a confirmation.
 * @returns the end of the authorization when it is not pending, or the response has no usable code
 */
export async function openConsent(
  env: Env,
  provider_id: string,
  query: CallbackQuery,
): Promise<CallbackOutcome | Question> {
  const db = database(env);
  const pending = query.state ? await findPending(db, provider_id, query.state) : undefined;
  if (!pending) return unknownState();
  const { authorization, provider } = pending;
  if (problemOf(query, provider) !== null) return finishAuthorization(env, provider_id, query);
  const { workspace_id, owner, subject, agent_id, scopes } = authorization;
  const requester = await findIdentity(db, workspace_id, actorOf(owner));
  if (requester === null) return unknownState();
  const provider_name = provider.name;
  const facts = { provider_id, provider_name, requester, subject, agent_id, scopes };
  return { status: "unconfirmed", ...facts, query };
}

export function answerConsent(
  env: Env,
  provider_id: string,
  { answer, ...query }: Confirmation,
): Promise<CallbackOutcome> {
  return answer === "connect"
    ? finishAuthorization(env, provider_id, query)
    : refuseAuthorization(env, provider_id, query.state);
}

async function findPending(db: Database, provider_id: string, state: string) {
  const [row] = await db
    .select({ authorization: oauth_authorizations, provider: oauth_providers })
    .from(oauth_authorizations)
    .innerJoin(oauth_providers, eq(oauth_providers.id, oauth_authorizations.oauth_provider_id))
    .where(isPending(provider_id, state));
  return row;
}
