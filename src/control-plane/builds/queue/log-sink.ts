import { RpcTarget } from "cloudflare:workers";
import { Buffer } from "node:buffer";
import { z } from "zod";
import { reportCommitStatus } from "../../deployments/git/commit-status-service.ts";
import { appendLog, type RevisionBuild } from "../../deployments/rollout/build-service.ts";
import { type BuildLine, type BuildSink, COMMIT_CHARACTERS } from "../contract.ts";
import { LOG_BYTES } from "../limits.ts";
import { bytesText, cutMessage } from "../text.ts";

const MAX_LINES = 20_000;
const MAX_STEPS = 10;

const Commit = z.object({
  repo_commit_sha: z.string().regex(/^[0-9a-f]{40,64}$/),
  repo_commit_message: z.string().max(COMMIT_CHARACTERS).nullable(),
  repo_commit_authored_at: z.iso.datetime().nullable(),
});
/** Progress from the isolate of a build, which is untrusted because it reads hostile sources. */
const Progress = z
  .object({
    steps: z
      .array(z.object({ name: z.enum(["install", "bundle"]), started_at: z.iso.datetime() }))
      .max(MAX_STEPS),
    commit: Commit.nullable(),
  })
  .catch({ steps: [], commit: null });

/** Lets the builder append lines to the log of one attempt, and set the steps and the commit in its revision's row. */
export class LogSink extends RpcTarget implements BuildSink {
  readonly #env: Env;
  readonly #build: RevisionBuild;
  #lines = 0;
  #bytes = 0;
  #isCut = false;
  #isReported = false;

  constructor(env: Env, build: RevisionBuild) {
    super();
    this.#env = env;
    this.#build = build;
  }

  /** Appends lines and progress. Drops lines over the limits. @throws LeaseLost when the attempt has lost its lease */
  async log(lines: BuildLine[], progress?: unknown): Promise<void> {
    const kept: BuildLine[] = [];
    for (const line of lines) {
      if (this.#isCut) break;
      kept.push(this.#count(line));
    }
    const { steps, commit } = Progress.parse(progress);
    await appendLog(this.#env, this.#build, kept, new Date(), { steps, ...commit });
    if (commit !== null) await this.#reportCommit();
  }

  /**
   * Reports the status of the commit once, after the source is fetched. A report before that could name the pushed
   * commit. If the build uses another one, the pushed commit would stay pending for good.
   */
  async #reportCommit(): Promise<void> {
    if (this.#isReported) return;
    this.#isReported = true;
    await reportCommitStatus(this.#env, this.#build.id);
  }

  /** @returns the line, or a warning in place of the first line over a limit */
  #count(line: BuildLine): BuildLine {
    const message = cutMessage(line.message);
    this.#lines += 1;
    this.#bytes += Buffer.byteLength(message);
    this.#isCut = this.#lines > MAX_LINES || this.#bytes > LOG_BYTES;
    if (!this.#isCut) return { ...line, message };
    const limits = `${MAX_LINES} lines and ${bytesText(LOG_BYTES)}`;
    const text = `The log is cut here: the log of an attempt has at most ${limits}.`;
    return { level: "WARNING", message: text, timestamp: line.timestamp };
  }
}
