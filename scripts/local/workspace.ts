import { type NewWorkspace, workspaceQuery, workspaceStatements } from "../workspace-sql.ts";
import { type Folder, keep } from "./folder.ts";
import { runWrangler } from "./wrangler.ts";

type MadeWorkspace = { organization_id: string; tenant_id: string; api_key: string };

/** Runs wrangler with these arguments and gives what it prints. */
type Wrangler = (args: string[]) => Promise<string>;

const FIRST: NewWorkspace = { org: "local", plan: "enterprise", name: "local", role: "admin" };

export async function createWorkspace(
  input: NewWorkspace,
  wrangler: Wrangler,
  schema = "",
): Promise<MadeWorkspace> {
  const { sql, api_key } = workspaceStatements(input);
  const command = [schema, sql, workspaceQuery(input)].join("\n");
  const out = await wrangler(["d1", "execute", "DB", "--json", "--command", command]);
  return { ...readBack(out), api_key };
}

/** The key is told once and stored as a hash, so it is kept beside the database. */
export async function createFirstWorkspace(folder: Folder, schema: string): Promise<void> {
  const { path, kept } = folder;
  const wrangler = (args: string[]) => runWrangler(path, args, kept.region);
  const made = await createWorkspace(FIRST, wrangler, schema);
  await keep(folder, { tenant_id: made.tenant_id, api_key: made.api_key });
}

function readBack(out: string): Omit<MadeWorkspace, "api_key"> {
  const { organization_id, tenant_id } = rowsOf(out)[0] ?? {};
  if (typeof organization_id !== "string" || typeof tenant_id !== "string") {
    throw new Error(`The workspace is not in the database; wrangler printed: ${out}`);
  }
  return { organization_id, tenant_id };
}

/** Rows of the last statement: wrangler prints a list with one result for each. */
export function rowsOf(out: string): Record<string, unknown>[] {
  const results = JSON.parse(out.slice(out.indexOf("[\n"))) as {
    results: Record<string, unknown>[];
  }[];
  return results.at(-1)?.results ?? [];
}
