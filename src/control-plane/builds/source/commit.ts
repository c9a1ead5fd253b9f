import { z } from "zod";
import { type EgressPolicy, safeFetch } from "../../../shared/egress/egress.ts";
import { toIso, toMicros } from "../../../shared/times.ts";
import { firstLine } from "../../../shared/trim.ts";
import { COMMIT_CHARACTERS, type SourceCommit } from "../contract.ts";
import { type Archive, commitUrl, type RepositoryAddress } from "./hosts.ts";

const LIMITS = { timeout_ms: 3000, max_bytes: 4 * 1024 * 1024 };

const Described = z.object({ message: z.string() });
/** GitHub and Gitea nest the commit; GitLab and Bitbucket do not. */
const Answer = z.union([
  z
    .object({ commit: Described.extend({ author: z.object({ date: z.string() }).nullish() }) })
    .transform(({ commit: { message, author } }) => ({ message, date: author?.date })),
  Described.extend({ authored_date: z.string().optional(), date: z.string().optional() }).transform(
    ({ message, authored_date, date }) => ({ message, date: authored_date ?? date }),
  ),
]);

/** Adds the message and the time of a commit, which an archive lacks. Best effort: a failure leaves both `null`. */
export async function fetchCommit(
  policy: EgressPolicy,
  repository: RepositoryAddress,
  { kind, headers }: Archive,
  commit: SourceCommit | null,
): Promise<SourceCommit | null> {
  if (commit === null) return null;
  const url = commitUrl(kind, repository, commit.repo_commit_sha);
  const answer = await readJson(policy, url, headers);
  const { data } = Answer.safeParse(answer);
  if (data === undefined) return commit;
  const micros = data.date === undefined ? null : toMicros(data.date);
  return {
    ...commit,
    repo_commit_message: firstLine(data.message, COMMIT_CHARACTERS),
    repo_commit_authored_at: micros === null ? null : toIso(micros),
  };
}

async function readJson(policy: EgressPolicy, url: string, headers: Record<string, string>) {
  try {
    const response = await safeFetch(policy, url, { headers }, LIMITS);
    return response.ok ? ((await response.json()) as unknown) : null;
  } catch {
    return null;
  }
}
