import { isBusy } from "../../../shared/egress/busy.ts";
import { type EgressPolicy, safeFetch } from "../../../shared/egress/egress.ts";
import { AppError } from "../../../shared/errors.ts";
import type { BuildOrder, BuildSource, BuildStore } from "../contract.ts";
import { BuildFailure } from "../failure.ts";
import { SOURCE_LIMITS } from "../limits.ts";
import { joinPath } from "../paths.ts";
import { isUnavailable, retryTransient } from "../retry.ts";
import { type UnpackedSource, unpackSource } from "./archive.ts";
import { fetchCommit } from "./commit.ts";
import { fetchByGit, refNotFound } from "./git.ts";
import {
  type Archive,
  archivesOf,
  basicAuthorization,
  cloneUrls,
  isKnownHost,
  type RepositoryAddress,
  toRepository,
} from "./hosts.ts";
import { followLinks } from "./links.ts";
import { referenceWarnings } from "./references.ts";

type GitSource = Extract<BuildSource, { kind: "git" }>;

const LIMITS = {
  timeout_ms: SOURCE_LIMITS.timeout_ms,
  max_bytes: SOURCE_LIMITS.compressed_bytes,
};

/** Fetches the source of a revision. `name` describes it in the log. */
export async function fetchSource(
  storage: BuildStore,
  order: BuildOrder,
): Promise<UnpackedSource & { name: string }> {
  const { source } = order;
  if (source.kind === "tarball") {
    const unpacked = await readTarball(storage, order.config_path);
    return { ...complete(unpacked), name: "the uploaded tarball" };
  }
  const repository = toRepository(source.repo_url);
  const policy: EgressPolicy = order;
  const unpacked = await retryTransient(
    () => fetchRepository(policy, repository, source),
    isUnavailable,
  );
  return { ...complete(unpacked), name: repository.name };
}

function complete({ tree, warnings }: UnpackedSource): UnpackedSource {
  return followLinks({ tree, warnings: [...warnings, ...referenceWarnings(tree)] });
}

async function readTarball(storage: BuildStore, config_path: string): Promise<UnpackedSource> {
  const body = await storage.readSource();
  if (body === null) {
    throw new BuildFailure(
      "source_not_found",
      "The uploaded tarball is no longer stored; upload it again.",
    );
  }
  return unpack(body, "The uploaded tarball", joinPath("", config_path));
}

async function fetchRepository(
  policy: EgressPolicy,
  repository: RepositoryAddress,
  source: GitSource,
): Promise<UnpackedSource> {
  const ref = source.repo_ref === "" ? "HEAD" : source.repo_ref;
  for (const archive of archivesOf(repository, ref, source.token)) {
    const unpacked = await fetchArchive(policy, repository, archive, source.token);
    if (unpacked === null) continue;
    const commit = await fetchCommit(policy, repository, archive, unpacked.tree.commit);
    return { ...unpacked, tree: { ...unpacked.tree, commit } };
  }
  const clone_url = await findCloneUrl(policy, repository, source.token);
  if (isKnownHost(repository)) throw refNotFound(repository, ref);
  const tree = await fetchByGit(policy, { ...repository, clone_url }, ref, source.token);
  return { tree, warnings: [] };
}

/** @returns `null` when the host does not return an archive: the caller then tries other APIs, and git */
async function fetchArchive(
  policy: EgressPolicy,
  repository: RepositoryAddress,
  archive: Archive,
  token: string | null,
): Promise<UnpackedSource | null> {
  const response = await get(policy, archive.url, archive.headers);
  if (response.status === 200 && isGzip(response) && response.body !== null) {
    return unpack(response.body, `The archive of ${repository.name}`, null);
  }
  await response.body?.cancel();
  if (isBusy(response)) throw unavailable(repository, response.status);
  // An unknown host may have no such API, and accept the token from git.
  if (response.status === 401 && token !== null && isKnownHost(repository)) {
    throw rejected(repository);
  }
  return null;
}

/** Returns `false` for pages and errors. Hosts send archives with various content types. */
function isGzip(response: Response): boolean {
  return !/html|json/.test(response.headers.get("content-type") ?? "");
}

async function unpack(
  stream: ReadableStream<Uint8Array>,
  what: string,
  anchor: string | null,
): Promise<UnpackedSource> {
  try {
    return await unpackSource(stream, anchor);
  } catch (error) {
    throw toUnpackFailure(error, what);
  }
}

function toUnpackFailure(error: unknown, what: string): BuildFailure {
  if (error instanceof BuildFailure) return error;
  if (error instanceof AppError && error.code === "too_large") {
    return new BuildFailure("source_too_large", error.message, { cause: error });
  }
  const text = error instanceof Error ? error.message : String(error);
  const message = `${what} is cut off or is not a .tar.gz: ${text}`;
  return new BuildFailure("source_unavailable", message, { cause: error });
}

/** Azure DevOps answers a rejected token with 203 and the sign-in page. */
const SIGN_IN = 203;
const REFS_TYPE = "application/x-git-upload-pack-advertisement";

/** Returns the URL that answers as a git host. Other answers show whether the repository or the token is wrong. */
async function findCloneUrl(
  policy: EgressPolicy,
  repository: RepositoryAddress,
  token: string | null,
): Promise<string> {
  const headers = {
    "user-agent": "git/heddle",
    ...(token === null ? {} : { authorization: basicAuthorization(token) }),
  };
  const statuses: number[] = [];
  for (const url of cloneUrls(repository)) {
    const response = await get(policy, `${url}/info/refs?service=git-upload-pack`, headers);
    await response.body?.cancel();
    if (isBusy(response)) throw unavailable(repository, response.status);
    if (response.ok && response.headers.get("content-type") === REFS_TYPE) return url;
    statuses.push(response.status);
  }
  // The host may answer every path with a page. In that case `fetchByGit` reports that it is not a git host.
  if (statuses.some((status) => status < 300 && status !== SIGN_IN)) return repository.clone_url;
  if (token === null) throw repositoryNotFound(repository);
  throw statuses.every((status) => status === 404) ? notFound(repository) : rejected(repository);
}

async function get(
  policy: EgressPolicy,
  url: string,
  headers: Record<string, string>,
): Promise<Response> {
  try {
    return await safeFetch(policy, url, { headers }, LIMITS);
  } catch (error) {
    throw toFetchFailure(error);
  }
}

function toFetchFailure(error: unknown): BuildFailure {
  const { code, message } = AppError.from(error);
  const reason = code === "invalid_request" ? "source_unsafe" : "source_unavailable";
  return new BuildFailure(reason, message, { cause: error });
}

function unavailable(repository: RepositoryAddress, status: number): BuildFailure {
  const limited = status === 403 || status === 429;
  const why = limited
    ? "limits the rate of requests: use an integration, whose token has a higher limit"
    : `answers ${status}; try again later`;
  return new BuildFailure("source_unavailable", `${repository.origin} ${why}.`);
}

function repositoryNotFound(repository: RepositoryAddress): BuildFailure {
  const text =
    `No public repository ${repository.name} on ${repository.origin}. ` +
    "If the URL is right, choose an integration whose token can read it; if not, create a deployment with the right one.";
  return new BuildFailure("source_not_found", text);
}

function notFound(repository: RepositoryAddress): BuildFailure {
  const text =
    `The integration's token cannot read the repository ${repository.name} on ${repository.origin}. ` +
    "If the URL is right, grant the token access to it; if not, create a deployment with the right one.";
  return new BuildFailure("source_not_found", text);
}

function rejected(repository: RepositoryAddress): BuildFailure {
  const text = `${repository.origin} rejects the integration's token for ${repository.name}; it may have expired: update the integration with a token that can read the repository.`;
  return new BuildFailure("source_unauthorized", text);
}
