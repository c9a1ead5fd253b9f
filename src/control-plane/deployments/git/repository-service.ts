import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { isBusy } from "../../../shared/egress/busy.ts";
import { egressPolicy, safeFetch } from "../../../shared/egress/egress.ts";
import { AppError, notFound } from "../../../shared/errors.ts";
import { apiHeaders, apiUrl, kindOf, readRepositories, repositoriesPath } from "./git-host.ts";
import type { Repository } from "./integration-schema.ts";
import { findIntegration, type IntegrationRow, tokenOf } from "./integration-service.ts";

const LIMITS = { timeout_ms: 10_000, max_bytes: 8 * 1024 * 1024 };
const MAX_PAGES = 10;

/** Lists the repositories that the integration can read now, up to `MAX_PAGES` pages of the host. */
export async function listRepositories(ctx: Context, id: string): Promise<Repository[]> {
  assertMay(ctx, "read");
  const row = await findIntegration(ctx.db, ctx.caller.workspace_id, id);
  if (!row) throw notFound("Integration", id);
  const token = await tokenOf(ctx.env, row);
  const repositories: Repository[] = [];
  for (let page = 1; page <= MAX_PAGES; page++) {
    const more = await readPage(ctx.env, row, token, page);
    if (more.length === 0) break;
    repositories.push(...more);
  }
  return repositories;
}

async function readPage(env: Env, row: IntegrationRow, token: string, page: number) {
  const { id, api_url, app_installation_id } = row;
  const kind = kindOf(api_url);
  const path = repositoriesPath(kind, app_installation_id !== null, page);
  const headers = apiHeaders(api_url, token);
  const response = await safeFetch(
    egressPolicy(env, "builds"),
    apiUrl(api_url, path),
    { headers },
    LIMITS,
  );
  const { host } = new URL(api_url);
  if (response.status === 200) {
    const body: unknown = await response.json().catch(() => null);
    const repositories = readRepositories(kind, id, body);
    if (repositories) return repositories;
    const text = `${host} did not answer with repositories: check that api_url of the integration "${row.name}" is the address of its API.`;
    throw new AppError("bad_request", text);
  }
  await response.body?.cancel();
  if (isBusy(response)) {
    throw new AppError(
      "unavailable",
      `${host} did not list the repositories (status ${response.status}): retry later.`,
    );
  }
  const text = `${host} refused to list the repositories of the integration "${row.name}" with the status ${response.status}: check that its token has not expired.`;
  throw new AppError("bad_request", text);
}
