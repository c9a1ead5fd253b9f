import fs from "node:fs";
import git from "isomorphic-git";
import { type EgressPolicy, safeFetch } from "../shared/egress.ts";
import { AppError } from "../shared/errors.ts";
import { BuildFailure } from "./failure.ts";
import { basicAuthorization, cloneUrl, type Repository } from "./hosts.ts";
import { SOURCE_LIMITS } from "./limits.ts";
import { admit, emptyTree, isReadable, type Tree } from "./tree.ts";

/** For hosts without an archive endpoint: one commit by git's own smart HTTP. */
export async function fetchByGit(
  policy: EgressPolicy,
  repository: Repository,
  ref: string,
  token: string | null,
): Promise<Tree> {
  const gitdir = `/tmp/${crypto.randomUUID()}`;
  const headers = {
    "user-agent": "git/heddle",
    ...(token === null ? {} : { Authorization: basicAuthorization(token) }),
  };
  await git.init({ fs, gitdir, bare: true });
  await git.addRemote({ fs, gitdir, remote: "origin", url: cloneUrl(repository) });
  const fetched = await git
    .fetch({
      fs,
      gitdir,
      http: { request: (request) => httpRequest(policy, request) },
      remote: "origin",
      ref,
      headers,
      depth: 1,
      singleBranch: true,
      tags: false,
    })
    .catch((error: unknown) => {
      throw toFailure(error, repository, ref);
    });
  if (fetched.fetchHead === null) throw refNotFound(repository, ref);
  return readTree(gitdir, fetched.fetchHead);
}

async function readTree(gitdir: string, commit: string): Promise<Tree> {
  const tree = emptyTree();
  const cache = {};
  const {
    oid: head,
    commit: { tree: root },
  } = await git.readCommit({ fs, gitdir, oid: commit, cache });
  tree.commit = head;
  const walk = async (oid: string, folder: string): Promise<void> => {
    const entries = await git.readTree({ fs, gitdir, oid, cache });
    for (const entry of entries.tree) {
      const path = `${folder}${entry.path}`;
      if (entry.type === "tree") await walk(entry.oid, `${path}/`);
      if (entry.type === "blob" && entry.mode !== "120000") await takeBlob(entry.oid, path);
    }
  };
  const takeBlob = async (oid: string, path: string) => {
    const { blob } = await git.readBlob({ fs, gitdir, oid, cache });
    admit(tree, { name: path, size: blob.byteLength, type: "file" });
    if (isReadable(path, blob.byteLength)) tree.files.set(path, blob);
    else tree.others.add(path);
  };
  await walk(root, "");
  return tree;
}

type HttpRequest = Parameters<NonNullable<Parameters<typeof git.fetch>[0]["http"]>["request"]>[0];

async function httpRequest(policy: EgressPolicy, request: HttpRequest) {
  const body = request.body ? await collect(request.body) : null;
  const response = await safeFetch(
    policy,
    request.url,
    { method: request.method ?? "GET", headers: request.headers ?? {}, body },
    { timeout_ms: SOURCE_LIMITS.timeout_ms, max_bytes: SOURCE_LIMITS.compressed_bytes },
  );
  return {
    url: response.url,
    method: request.method ?? "GET",
    statusCode: response.status,
    statusMessage: response.statusText,
    headers: Object.fromEntries(response.headers),
    body: chunksOf(response),
  };
}

async function* chunksOf(response: Response): AsyncIterableIterator<Uint8Array> {
  if (response.body !== null) yield* response.body;
}

async function collect(
  parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const part of parts) chunks.push(part);
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

function toFailure(error: unknown, repository: Repository, ref: string): unknown {
  const { name, message } = error instanceof Error ? error : { name: "", message: "" };
  if (name === "NotFoundError") return refNotFound(repository, ref);
  if (error instanceof AppError) {
    const reason = error.code === "invalid_request" ? "source_unsafe" : "source_unavailable";
    return new BuildFailure(reason, message, { cause: error });
  }
  if (!isFromGit(error)) return error;
  const text = `${repository.origin} does not answer as a git host does for ${repository.name}: ${message}`;
  return new BuildFailure("source_unavailable", text, { cause: error });
}

function isFromGit(error: unknown): boolean {
  return error instanceof Error && "isIsomorphicGitError" in error;
}

export function refNotFound(repository: Repository, ref: string): BuildFailure {
  const text = `${repository.name} has no branch, tag or commit "${ref}".`;
  return new BuildFailure("ref_not_found", text);
}
