import {
  type NewWorkspace,
  workspaceQuery,
  workspaceStatements,
} from "../scripts/workspace-sql.ts";

export type MadeWorkspace = { organization_id: string; tenant_id: string; api_key: string };

/** Runs wrangler with these arguments and returns what it prints. */
type Wrangler = (args: string[]) => Promise<string>;

/** The workspace that a new stack begins with. */
export const FIRST_WORKSPACE: NewWorkspace = {
  org: "local",
  plan: "enterprise",
  name: "local",
  role: "admin",
};

export async function createWorkspace(
  input: NewWorkspace,
  wrangler: Wrangler,
): Promise<MadeWorkspace> {
  const { sql, api_key } = workspaceStatements(input);
  const command = [sql, workspaceQuery(input)].join("\n");
  const out = await wrangler(["d1", "execute", "DB", "--json", "--command", command]);
  return { ...toWorkspace(rowsOf(out)[0]), api_key };
}

/** Reads the row of `workspaceQuery`. */
export function toWorkspace(row: Record<string, unknown> = {}): Omit<MadeWorkspace, "api_key"> {
  const { organization_id, tenant_id } = row;
  if (typeof organization_id !== "string" || typeof tenant_id !== "string") {
    throw new Error(`The workspace is not in the database: ${JSON.stringify(row)}`);
  }
  return { organization_id, tenant_id };
}

/** Returns the rows of the last statement: wrangler prints a list with one result for each statement. */
export function rowsOf(out: string): Record<string, unknown>[] {
  const results = JSON.parse(out.slice(out.indexOf("[\n"))) as {
    results: Record<string, unknown>[];
  }[];
  return results.at(-1)?.results ?? [];
}
