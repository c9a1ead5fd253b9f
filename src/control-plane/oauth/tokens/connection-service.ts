import { and, asc, eq } from "drizzle-orm";
import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { AppError, notFound } from "../../../shared/errors.ts";
import { newId } from "../../../shared/storage/ids.ts";
import { insertBelow, inWorkspace, isUniqueViolation } from "../../../shared/storage/sql.ts";
import { ownerOf } from "../owner.ts";
import { oauth_connections, oauth_tokens } from "../table.ts";
import { Connection, type ConnectionsList } from "../token-schema.ts";
import { needOwnToken } from "./token-service.ts";

/** Maximum number of connections of a token. */
const MAX_CONNECTIONS = 100;

/** Lists the caller's connections only: those of others would show the labels of their accounts. */
export async function listConnections(ctx: Context, agent_id: string): Promise<ConnectionsList> {
  assertMay(ctx, "read");
  const rows = await ctx.db
    .select({ connection: oauth_connections, token: oauth_tokens })
    .from(oauth_connections)
    .innerJoin(oauth_tokens, eq(oauth_tokens.id, oauth_connections.oauth_token_id))
    .where(and(isOwn(ctx), eq(oauth_connections.agent_id, agent_id)))
    .orderBy(asc(oauth_connections.created_at), asc(oauth_connections.id));
  return {
    data: rows.map(({ connection, token }) => Connection.parse({ ...token, ...connection })),
  };
}

export async function createConnection(
  ctx: Context,
  agent_id: string,
  oauth_token_id: string,
): Promise<Connection> {
  assertMay(ctx, "read");
  const token = await needOwnToken(ctx, oauth_token_id);
  const connection = {
    id: newId(),
    workspace_id: ctx.caller.workspace_id,
    agent_id,
    oauth_token_id,
    created_by: ownerOf(ctx.caller),
    created_at: new Date().toISOString(),
  };
  const bound = { limit: MAX_CONNECTIONS, where: eq(oauth_connections.oauth_token_id, token.id) };
  const made = await insertBelow(ctx.db, oauth_connections, connection, bound).catch(
    (error: unknown) => {
      if (!isUniqueViolation(error, "oauth_connections.agent_id")) throw error;
      const text = `OAuth token ID ${oauth_token_id} is already connected to agent ${agent_id}.`;
      throw new AppError("conflict", text);
    },
  );
  if (made !== undefined) return Connection.parse({ ...token, ...made });
  const text = `OAuth token ID ${oauth_token_id} has ${MAX_CONNECTIONS} connections, which is the limit: delete one first.`;
  throw new AppError("conflict", text);
}

export async function deleteConnection(
  ctx: Context,
  agent_id: string,
  connection_id: string,
): Promise<void> {
  assertMay(ctx, "read");
  const gone = await ctx.db
    .delete(oauth_connections)
    .where(
      and(
        isOwn(ctx),
        eq(oauth_connections.id, connection_id),
        eq(oauth_connections.agent_id, agent_id),
      ),
    )
    .returning({ id: oauth_connections.id });
  if (gone.length === 0) throw notFound("Connection", connection_id);
}

function isOwn(ctx: Context) {
  return and(
    inWorkspace(ctx, oauth_connections),
    eq(oauth_connections.created_by, ownerOf(ctx.caller)),
  );
}
