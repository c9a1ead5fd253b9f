import { z } from "@hono/zod-openapi";
import { firstLine, trimEnd } from "../../../shared/trim.ts";
import { COMMIT_CHARACTERS, type SourceCommit } from "../../builds/contract.ts";

/** Parses the push events of repository hosts. Pure. */

export type Push = {
  ref: string;
  commit: SourceCommit;
  repo_urls: string[];
};

const Urls = z.object({
  clone_url: z.string(),
  html_url: z.string(),
  git_http_url: z.string(),
  web_url: z.string(),
});

/** A commit of a push. Incomplete ones are skipped, because the build reads the commit again. */
const Commit = z.object({
  id: z.string(),
  message: z.string().transform((text) => firstLine(text, COMMIT_CHARACTERS)),
  timestamp: z.iso.datetime({ offset: true }),
});

/** GitHub and Gitea have a repository, GitLab a project. */
const Payload = z.object({
  ref: z.string(),
  after: z.string(),
  head_commit: z.unknown().optional(),
  commits: z.array(z.unknown()).nullish().catch(null),
  repository: Urls.partial().nullish(),
  project: Urls.partial().nullish(),
});

const EVENTS = ["x-github-event", "x-gitea-event", "x-gitlab-event"];
/**
 * Headers with the id of a delivery. GitLab keeps `idempotency-key` in redeliveries. Old versions of GitLab send only
 * `x-gitlab-event-uuid`.
 */
const DELIVERIES = [
  "x-github-delivery",
  "x-gitea-delivery",
  "idempotency-key",
  "x-gitlab-event-uuid",
];
const PUSHES = ["push", "push hook"];

/** Proof that the sender knows the secret: a signature of the body, or the secret itself (GitLab). */
export type Proof = { kind: "hmac"; signature: string } | { kind: "secret"; secret: string };

export function readProof(headers: Headers): Proof | null {
  const signature = headers.get("x-hub-signature-256") ?? headers.get("x-gitea-signature");
  if (signature !== null) return { kind: "hmac", signature: signature.replace(/^sha256=/, "") };
  const secret = headers.get("x-gitlab-token");
  return secret === null ? null : { kind: "secret", secret };
}

export function isPush(headers: Headers): boolean {
  const event = first(headers, EVENTS);
  return event !== null && PUSHES.includes(event.toLowerCase());
}

/** Returns the id of an event, which is the same for each attempt to deliver it. */
export function deliveryId(headers: Headers): string | null {
  return first(headers, DELIVERIES);
}

/** @returns `null` for events other than a new commit on a branch */
export function readPush(body: unknown): Push | null {
  const parsed = Payload.safeParse(body);
  if (!parsed.success) return null;
  const { ref, after, repository, project, head_commit, commits } = parsed.data;
  const isBranch = ref.startsWith("refs/heads/");
  if (!isBranch || !/^[0-9a-f]{40,64}$/.test(after) || /^0+$/.test(after)) return null;
  const urls = Object.values({ ...repository, ...project });
  const commit = findCommit(after, [head_commit, ...(commits ?? [])]);
  return { ref, commit, repo_urls: urls.filter((url) => url !== undefined) };
}

function findCommit(sha: string, listed: readonly unknown[]): SourceCommit {
  const found = listed
    .map((commit) => Commit.safeParse(commit).data)
    .find((commit) => commit?.id === sha);
  return {
    repo_commit_sha: sha,
    repo_commit_message: found?.message ?? null,
    repo_commit_authored_at: found ? new Date(found.timestamp).toISOString() : null,
  };
}

/** Returns whether a push is for the repository and the branch of a deployment. */
export function concerns(push: Push, repo_url: string | null, repo_ref: string | null): boolean {
  if (repo_url === null || repo_ref === null) return false;
  if (push.ref !== `refs/heads/${repo_ref.replace(/^refs\/heads\//, "")}`) return false;
  return push.repo_urls.map(sameForm).includes(sameForm(repo_url));
}

/** Hosts treat `https://Host/a/b`, `https://host/a/b/` and `https://host/a/b.git` alike. */
function sameForm(url: string): string {
  return trimEnd(url.toLowerCase().replace(/^https?:\/\//, ""), "/").replace(/\.git$/, "");
}

function first(headers: Headers, names: readonly string[]): string | null {
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null && value !== "") return value;
  }
  return null;
}
