import fs from "node:fs";
import git from "isomorphic-git";
import { type EgressPolicy, safeFetch } from "../../../shared/egress/egress.ts";
import { AppError } from "../../../shared/errors.ts";
import { BuildFailure } from "../failure.ts";
import { SOURCE_LIMITS } from "../limits.ts";
import type { Tree } from "../tree.ts";
import { DamagedDelta } from "./git-delta.ts";
import { withoutPack } from "./git-lines.ts";
import { DamagedPack, readPack } from "./git-pack.ts";
import { readTree } from "./git-tree.ts";
import { basicAuthorization, type RepositoryAddress } from "./hosts.ts";

/** Fetches one commit by git's smart HTTP, for hosts without an archive endpoint. */
export async function fetchByGit(
  policy: EgressPolicy,
  repository: RepositoryAddress,
  ref: string,
  token: string | null,
): Promise<Tree> {
  const gitdir = `/tmp/${crypto.randomUUID()}`;
  const headers = {
    "user-agent": "git/heddle",
    ...(token === null ? {} : { Authorization: basicAuthorization(token) }),
  };
  const pack: Uint8Array[] = [];
  try {
    await git.init({ fs, gitdir, bare: true });
    await git.addRemote({ fs, gitdir, remote: "origin", url: repository.clone_url });
    const { fetchHead } = await git.fetch({
      fs,
      gitdir,
      http: { request: (request) => httpRequest(policy, request, pack) },
      remote: "origin",
      ref,
      headers,
      depth: 1,
      singleBranch: true,
      tags: false,
    });
    if (fetchHead === null) throw refNotFound(repository, ref);
    return readTree(readPack(joined(pack)), fetchHead);
  } catch (error) {
    throw toFailure(error, repository, ref);
  }
}

type HttpRequest = Parameters<NonNullable<Parameters<typeof git.fetch>[0]["http"]>["request"]>[0];

/** The pack goes to `pack` and not to isomorphic-git, which inflates and indexes it without limits. */
async function httpRequest(policy: EgressPolicy, request: HttpRequest, pack: Uint8Array[]) {
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
    body: request.method === "POST" ? withoutPack(chunksOf(response), pack) : chunksOf(response),
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
  return joined(chunks);
}

/** Joins the chunks and drops each one, so that a pack is not held twice. */
function joined(chunks: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(chunks.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let start = whole.byteLength;
  for (let chunk = chunks.pop(); chunk !== undefined; chunk = chunks.pop()) {
    start -= chunk.byteLength;
    whole.set(chunk, start);
  }
  return whole;
}

function toFailure(error: unknown, repository: RepositoryAddress, ref: string): unknown {
  const { name, message } = error instanceof Error ? error : { name: "", message: "" };
  if (name === "NotFoundError") return refNotFound(repository, ref);
  if (error instanceof AppError) {
    const reason = error.code === "invalid_request" ? "source_unsafe" : "source_unavailable";
    return new BuildFailure(reason, message, { cause: error });
  }
  if (!isFromHost(error)) return error;
  const text = `${repository.origin} does not answer as a git host does for ${repository.name}: ${message}`;
  return new BuildFailure("source_unavailable", text, { cause: error });
}

function isFromHost(error: unknown): boolean {
  if (error instanceof DamagedPack || error instanceof DamagedDelta) return true;
  return error instanceof Error && "isIsomorphicGitError" in error;
}

export function refNotFound(repository: RepositoryAddress, ref: string): BuildFailure {
  const text = `${repository.name} has no branch, tag or commit "${ref}".`;
  return new BuildFailure("ref_not_found", text);
}
