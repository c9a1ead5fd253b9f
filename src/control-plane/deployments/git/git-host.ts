import { z } from "@hono/zod-openapi";
import { trimEnd } from "../../../shared/trim.ts";
import type { RevisionStatus } from "../schema.ts";
import type { Repository } from "./integration-schema.ts";

/** Requests to the APIs of repository hosts. Pure. */

type ApiKind = "github" | "gitea" | "gitlab";

/** Returns the kind of API by the end of its base URL: /api/v4 is GitLab, /api/v1 is Gitea or Forgejo. */
export function kindOf(api_url: string): ApiKind {
  const { pathname } = new URL(api_url);
  if (/\/api\/v4\/?$/.test(pathname)) return "gitlab";
  return /\/api\/v1\/?$/.test(pathname) ? "gitea" : "github";
}

export function apiHeaders(api_url: string, token: string): Record<string, string> {
  const scheme = kindOf(api_url) === "gitea" ? "token" : "Bearer";
  return {
    authorization: `${scheme} ${token}`,
    accept: "application/json",
    "content-type": "application/json",
    "user-agent": "heddle",
  };
}

/** Appends a path to the base URL, which may end in a slash. */
export function apiUrl(api_url: string, path: string): string {
  return `${trimEnd(api_url, "/")}${path}`;
}

export function repositoriesPath(kind: ApiKind, isApp: boolean, page: number): string {
  if (kind === "gitlab") return `/projects?membership=true&simple=true&per_page=100&page=${page}`;
  if (kind === "gitea") return `/user/repos?limit=50&page=${page}`;
  const path = isApp ? "/installation/repositories" : "/user/repos";
  return `${path}?per_page=100&page=${page}`;
}

const GithubRepository = z.object({
  id: z.number().int(),
  name: z.string(),
  owner: z.object({ login: z.string() }),
  clone_url: z.string(),
  default_branch: z.string().nullish(),
});
const GitlabProject = z.object({
  id: z.number().int(),
  path: z.string(),
  namespace: z.object({ full_path: z.string() }),
  http_url_to_repo: z.string(),
  default_branch: z.string().nullish(),
});
const GithubPage = z.union([
  z.array(GithubRepository),
  z.object({ repositories: z.array(GithubRepository) }).transform((page) => page.repositories),
]);

/** @returns `undefined` when the body is not a page of repositories */
export function readRepositories(
  kind: ApiKind,
  host_integration_id: string,
  body: unknown,
): Repository[] | undefined {
  if (kind === "gitlab") {
    const projects = z.array(GitlabProject).safeParse(body).data;
    return projects?.map((project) => ({
      host_integration_id,
      id: project.id,
      name: project.path,
      owner: project.namespace.full_path,
      url: project.http_url_to_repo,
      default_branch: project.default_branch ?? null,
    }));
  }
  const page = GithubPage.safeParse(body).data;
  return page?.map(({ id, name, owner, clone_url, default_branch }) => ({
    host_integration_id,
    id,
    name,
    owner: owner.login,
    url: clone_url,
    default_branch: default_branch ?? null,
  }));
}

/** Maximum characters of a description at GitHub. */
const MAX_DESCRIPTION = 140;

type CommitStatus = {
  name: string;
  sha: string;
  repo_url: string;
  status: RevisionStatus;
  description: string;
  target_url: string | null;
};

export function statusRequest(
  api_url: string,
  status: CommitStatus,
): { path: string; body: object } {
  const { name, sha, repo_url, description, target_url } = status;
  const repository = repositoryAt(api_url, repo_url);
  const kind = kindOf(api_url);
  const state = stateOf(kind, status.status);
  const shared = {
    state,
    // A cut may halve a surrogate pair, which hosts refuse in JSON.
    description: description.slice(0, MAX_DESCRIPTION).toWellFormed(),
    ...(target_url && { target_url }),
  };
  if (kind === "gitlab") {
    const path = `/projects/${encodeURIComponent(repository)}/statuses/${sha}`;
    return { path, body: { ...shared, name: `heddle/${name}` } };
  }
  const path = `/repos/${repository}/statuses/${sha}`;
  return { path, body: { ...shared, context: `heddle/${name}` } };
}

/** Returns the path of a repository in its API. A host may be below a path, as in https://example.com/git/api/v1. */
function repositoryAt(api_url: string, repo_url: string): string {
  const host = new URL(api_url).pathname.replace(/\/(?:api\/v\d+\/?)?$/, "");
  const path = trimEnd(new URL(repo_url).pathname, "/").replace(/\.git$/, "");
  return (path.startsWith(`${host}/`) ? path.slice(host.length) : path).replace(/^\/+/, "");
}

/** Returns the state of a commit. Only GitLab has one for builds that were skipped or interrupted. */
function stateOf(kind: ApiKind, status: RevisionStatus): string {
  if (status === "DEPLOYED") return "success";
  if (status.endsWith("_FAILED")) return kind === "gitlab" ? "failed" : "failure";
  if (status === "SKIPPED" || status === "INTERRUPTED") {
    return kind === "gitlab" ? "canceled" : "error";
  }
  return "pending";
}

/**
 * Returns whether a repository is on the host of the API, with or without `api.`, and is not read without TLS where the API
 * has it. Others never get its token.
 */
export function isHostOf(api_url: string, repo_url: string): boolean {
  const [api, repo] = [new URL(api_url), new URL(repo_url)];
  if (api.protocol === "https:" && repo.protocol !== "https:") return false;
  return repo.host === api.host || `api.${repo.host}` === api.host;
}
