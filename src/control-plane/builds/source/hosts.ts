import { trimEnd } from "../../../shared/trim.ts";
import { BuildFailure } from "../failure.ts";

export type RepositoryAddress = {
  /** A repository like `acme/chat`. */
  name: string;
  origin: string;
  hostname: string;
  segments: string[];
  /** The URL for git's smart HTTP. */
  clone_url: string;
};

type HostKind = "github" | "github_enterprise" | "gitea" | "gitlab" | "bitbucket" | "loopback";

export type Archive = { kind: HostKind; url: string; headers: Record<string, string> };

const KNOWN = new Map<string, HostKind>([
  ["github.com", "github"],
  ["www.github.com", "github"],
  ["gitlab.com", "gitlab"],
  ["codeberg.org", "gitea"],
  ["gitea.com", "gitea"],
  ["bitbucket.org", "bitbucket"],
]);

/** APIs to try at an unknown host, in this order. `loopback` is GitHub's API at the root of the host. */
const GUESSES: readonly HostKind[] = ["loopback", "github_enterprise", "gitea", "gitlab"];

type ArchivePath = (origin: string, segments: string[], ref: string) => string;

const join = (segments: string[]) => segments.map(encodeURIComponent).join("/");
const short = (ref: string) => ref.replace(/^refs\/(heads|tags)\//, "");

const ARCHIVE_URLS: Record<HostKind, ArchivePath> = {
  github: (_, segments, ref) =>
    `https://api.github.com/repos/${join(segments)}/tarball/${join(ref.split("/"))}`,
  loopback: (origin, segments, ref) =>
    `${origin}/repos/${join(segments)}/tarball/${join(ref.split("/"))}`,
  github_enterprise: (origin, segments, ref) =>
    `${origin}/api/v3/repos/${join(segments)}/tarball/${join(ref.split("/"))}`,
  gitea: (origin, segments, ref) =>
    `${origin}/api/v1/repos/${join(segments)}/archive/${join(short(ref).split("/"))}.tar.gz`,
  gitlab: (origin, segments, ref) =>
    `${origin}/api/v4/projects/${encodeURIComponent(segments.join("/"))}/repository/archive.tar.gz?sha=${encodeURIComponent(ref)}`,
  bitbucket: (origin, segments, ref) =>
    `${origin}/${join(segments)}/get/${join(short(ref).split("/"))}.tar.gz`,
};

type CommitPath = (origin: string, segments: string[], sha: string) => string;

const COMMIT_URLS: Record<HostKind, CommitPath> = {
  github: (_, segments, sha) => `https://api.github.com/repos/${join(segments)}/commits/${sha}`,
  loopback: (origin, segments, sha) => `${origin}/repos/${join(segments)}/commits/${sha}`,
  github_enterprise: (origin, segments, sha) =>
    `${origin}/api/v3/repos/${join(segments)}/commits/${sha}`,
  gitea: (origin, segments, sha) => `${origin}/api/v1/repos/${join(segments)}/git/commits/${sha}`,
  gitlab: (origin, segments, sha) =>
    `${origin}/api/v4/projects/${encodeURIComponent(segments.join("/"))}/repository/commits/${sha}`,
  bitbucket: (_, segments, sha) =>
    `https://api.bitbucket.org/2.0/repositories/${join(segments)}/commit/${sha}`,
};

/** Returns the URL of the host's API that describes a commit of this archive. */
export function commitUrl(kind: HostKind, repository: RepositoryAddress, sha: string): string {
  return COMMIT_URLS[kind](repository.origin, repository.segments, sha);
}

export function toRepository(repo_url: string): RepositoryAddress {
  const ssh = /^(?:ssh:\/\/)?git@([^:/]+)[:/](.+)$/.exec(repo_url);
  const url = URL.parse(ssh ? `https://${ssh[1]}/${ssh[2]}` : repo_url);
  if (url === null) throw notARepository(repo_url);
  const path = trimEnd(url.pathname, "/").replace(/\.git$/, "");
  const segments = toSegments(path);
  if (segments.length < 2) throw notARepository(repo_url);
  const { origin, hostname } = url;
  const clone_url = `${origin}/${join(segments)}.git`;
  return { name: segments.join("/"), origin, hostname, segments, clone_url };
}

/** @returns an empty list when the path has invalid percent-encoding */
function toSegments(path: string): string[] {
  try {
    return path.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return [];
  }
}

function notARepository(repo_url: string): BuildFailure {
  const text = `"${repo_url}" is not a repository URL: use https://host/owner/name.`;
  return new BuildFailure("source_not_found", text);
}

/** Returns URLs that may hold a tarball of this commit-ish, the likeliest first. */
export function archivesOf(
  repository: RepositoryAddress,
  ref: string,
  token: string | null,
): Archive[] {
  return kindsOf(repository).map((kind) => ({
    kind,
    url: ARCHIVE_URLS[kind](repository.origin, repository.segments, ref),
    headers: {
      "user-agent": "heddle",
      ...(token === null ? {} : { authorization: authorization(kind, token) }),
    },
  }));
}

export function isKnownHost(repository: RepositoryAddress): boolean {
  return KNOWN.has(repository.hostname);
}

function kindsOf(repository: RepositoryAddress): readonly HostKind[] {
  const known = KNOWN.get(repository.hostname);
  if (known) return [known];
  // Only GitLab has groups in groups.
  return repository.segments.length === 2 ? GUESSES : ["gitlab"];
}

function authorization(kind: HostKind, token: string): string {
  return kind === "gitea" ? `token ${token}` : `Bearer ${token}`;
}

/**
 * Returns the URLs at which the repository may be. Most hosts have one that ends in `.git`, and redirect the other one
 * to it. Azure DevOps and AWS CodeCommit have only the one without `.git`.
 */
export function cloneUrls(repository: RepositoryAddress): string[] {
  const { clone_url } = repository;
  return isKnownHost(repository) ? [clone_url] : [clone_url, clone_url.replace(/\.git$/, "")];
}

/** Smart HTTP takes the token as the password. */
export function basicAuthorization(token: string): string {
  return `Basic ${btoa(`x-access-token:${token}`)}`;
}
